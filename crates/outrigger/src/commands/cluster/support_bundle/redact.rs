//! Removes secrets from texts: those that are known, and what looks like one.

use regex::{Captures, Regex};
use serde_json::Value;

/// What a secret is replaced by.
pub(super) const REDACTED: &str = "[redacted]";
/// Known values that are shorter are not searched for: they are parts of words.
const MIN_SECRET: usize = 6;
/// Fields of Clusters and Machines.
const CREDENTIALS: &[&str] = &["password", "privateKey", "passPhrase"];
/// The annotation in which kubectl keeps the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What looks like a secret. A group `key` is kept.
const PATTERNS: &[&str] = &[
    // A key whose end is cut off is one as well.
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
    // A JSON Web Token, such as those of service accounts.
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?i)(?P<key>\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}",
    // A bootstrap token of kubeadm.
    r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b",
    // The user of a URL.
    r"(?P<key>://)[^/\s:@]+:[^/\s@]+@",
    // `password=x`, `"token": "x"`, `--certificate-key x`, `client-key-data: x`.
    r#"(?i)(?P<key>[A-Za-z0-9_.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data|certificate-key|credential)s?["']?\s*[=:]\s*["']?)[^\s"',;}\[\]]+"#,
    r"(?i)(?P<key>--(?:password|passwd|token|certificate-key|discovery-token|tls-bootstrap-token|secret|api-key)\s+)[^\s-][^\s]*",
];

/// Replaces secrets.
pub(super) struct Redactor {
    known: Vec<String>,
    patterns: Vec<Regex>,
}

impl Default for Redactor {
    fn default() -> Self {
        let patterns = PATTERNS
            .iter()
            .map(|pattern| Regex::new(pattern).expect("a test compiles all patterns"));
        Self {
            known: Vec::new(),
            patterns: patterns.collect(),
        }
    }
}

impl Redactor {
    /// Adds a value that is secret wherever it is.
    pub(super) fn add(&mut self, secret: &[u8]) {
        let Ok(text) = std::str::from_utf8(secret) else {
            return;
        };
        // Of a key, each line is secret.
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| line.len() >= MIN_SECRET && !line.starts_with("-----"));
        self.known.extend(lines.map(ToOwned::to_owned));
        // A value that contains another one is replaced first.
        self.known
            .sort_by_key(|known| std::cmp::Reverse(known.len()));
        self.known.dedup();
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for known in &self.known {
            if text.contains(known.as_str()) {
                text = text.replace(known.as_str(), REDACTED);
            }
        }
        for pattern in &self.patterns {
            let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
                let key = found.name("key").map_or("", |key| key.as_str());
                format!("{key}{REDACTED}")
            });
            text = replaced.into_owned();
        }
        text
    }
}

/// Removes the credentials of machines from an object.
pub(super) fn without_credentials(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove(LAST_APPLIED);
            for (name, field) in fields {
                if CREDENTIALS.contains(&name.as_str()) && field.is_string() {
                    *field = Value::from(REDACTED);
                } else {
                    without_credentials(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_credentials),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Redactor::default().text(text), expected, "{text}");
    }

    #[test]
    fn what_looks_like_a_secret_is_replaced() {
        check("password=hunter22 user=a", "password=[redacted] user=a");
        check(
            "\"token\": \"abc\", \"a\": 1",
            "\"token\": \"[redacted]\", \"a\": 1",
        );
        check("DB_PASSWORD: hunter22", "DB_PASSWORD: [redacted]");
        check("client-key-data: bmV3", "client-key-data: [redacted]");
        check("join --token 1a2b3c --x y", "join --token [redacted] --x y");
        check("use abcdef.0123456789abcdef now", "use [redacted] now");
        check(
            "Authorization: Bearer abcdefgh123",
            "Authorization: Bearer [redacted]",
        );
        check("GET https://me:pw@host/x", "GET https://[redacted]host/x");
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0abc.c2lnbmF0dXJl";
        check(&format!("sent {token}!"), "sent [redacted]!");
    }

    #[test]
    fn private_keys_are_replaced_also_if_they_are_cut_off() {
        let begin = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n";
        let whole = format!("a\n{begin}-----END RSA PRIVATE KEY-----\nb\n");
        check(&whole, "a\n[redacted]\nb\n");
        check(&format!("a\n{begin}"), "a\n[redacted]");
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----\n";
        check(certificate, certificate);
    }

    #[test]
    fn messages_without_secrets_stay() {
        for text in [
            "Failed to pull image \"registry.k8s.io/pause:3.10\": not found",
            "kubelet.go:2345 syncing pod kube-system/etcd-cp1 took 1.5s",
            "secret \"web\" not found",
            "10.0.0.9:6443 connect: connection refused",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn known_values_are_replaced_wherever_they_are() {
        let mut redactor = Redactor::default();
        redactor.add(b"correct horse\n");
        redactor.add(b"correct horse battery");
        redactor.add(b"abc");
        redactor.add(b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END");
        let text = redactor.text("a correct horse battery, correct horse, abc, b3BlbnNzaC1rZXk");
        assert_eq!(text, "a [redacted], [redacted], abc, [redacted]");
    }

    #[test]
    fn credentials_of_objects_are_removed_and_references_to_them_stay() {
        let mut object = json!({
            "metadata": {"annotations": {LAST_APPLIED: "{\"password\": \"eA==\"}", "a": "b"}},
            "spec": {"machines": [{"ip": "10.0.0.1", "password": "eA==", "proxy": {"privateKey": "eA=="}}],
                     "secretRef": {"name": "ssh", "namespace": "default"}},
        });
        without_credentials(&mut object);
        let expected = json!({
            "metadata": {"annotations": {"a": "b"}},
            "spec": {"machines": [{"ip": "10.0.0.1", "password": REDACTED, "proxy": {"privateKey": REDACTED}}],
                     "secretRef": {"name": "ssh", "namespace": "default"}},
        });
        assert_eq!(object, expected);
    }
}
