//! The certificates of machines: which ones they have, and when those expire. Keys are not read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{Timestamp, Unit};

mod x509;

pub use x509::Malformed;

/// Prints the certificates of a machine.
pub const LIST: &str = include_str!("certificates/list.sh");
/// A certificate that expires in fewer days should be renewed.
pub const WARNING_DAYS: i64 = 30;
/// The last line.
const END: &str = "certificates end";
const BEGIN_PEM: &str = "-----BEGIN CERTIFICATE-----";
const END_PEM: &str = "-----END CERTIFICATE-----";

/// A certificate of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Path of the file that it is in.
    pub file: String,
    /// Common name of its subject; empty if it has none.
    pub subject: String,
    pub expires: Timestamp,
}

/// What is to be done about a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Valid,
    /// It expires within [`WARNING_DAYS`].
    Expiring,
    Expired,
}

/// Why the certificates of a machine are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("the list of certificates was cut off")]
    CutOff,
    #[error("{file}: {source}")]
    Malformed {
        file: String,
        #[source]
        source: Malformed,
    },
}

impl Certificate {
    /// The name of the file as people know it, such as `etcd/server` or `admin.conf`.
    pub fn name(&self) -> &str {
        let folders = ["/etc/kubernetes/pki/", "/etc/kubernetes/"];
        let mut short = folders.iter().filter_map(|it| self.file.strip_prefix(it));
        let name = short
            .next()
            .or_else(|| self.file.rsplit('/').next())
            .unwrap_or(&self.file);
        match name {
            "kubelet-client-current.pem" => "kubelet-client",
            "kubelet-server-current.pem" => "kubelet-server",
            name => name.strip_suffix(".crt").unwrap_or(name),
        }
    }

    /// Whole days until it expires; negative if it has.
    pub fn days_left(&self, now: Timestamp) -> i64 {
        let seconds = self.expires.as_second().saturating_sub(now.as_second());
        seconds.div_euclid(24 * 60 * 60)
    }

    pub fn validity(&self, now: Timestamp) -> Validity {
        match self.days_left(now) {
            _ if self.expires <= now => Validity::Expired,
            days if days < WARNING_DAYS => Validity::Expiring,
            _ => Validity::Valid,
        }
    }
}

/// Parses what [`LIST`] prints.
pub fn parse(text: &str) -> Result<Vec<Certificate>, ListError> {
    if text.trim_end().lines().last() != Some(END) {
        return Err(ListError::CutOff);
    }
    let mut certificates = Vec::new();
    let (mut file, mut pem) = ("", String::new());
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("file ") {
            (file, pem) = (path, String::new());
        } else if let Some(data) = line.strip_prefix("data ") {
            let decoded = STANDARD.decode(data.trim().trim_matches('"'));
            let decoded = decoded.map_err(|_| malformed(file, Malformed))?;
            // A kubeconfig has the certificate and then its issuers.
            let text = String::from_utf8_lossy(&decoded);
            let lines = text.lines().skip_while(|line| *line != BEGIN_PEM).skip(1);
            let first: String = lines.take_while(|line| *line != END_PEM).collect();
            certificates.push(certificate(file, &first)?);
        } else if line == END_PEM {
            certificates.push(certificate(file, &pem)?);
        } else if line == BEGIN_PEM {
            pem.clear();
        } else {
            pem.push_str(line.trim());
        }
    }
    Ok(certificates)
}

fn malformed(file: &str, source: Malformed) -> ListError {
    ListError::Malformed {
        file: file.to_owned(),
        source,
    }
}

/// A certificate from the base64 text of its PEM block.
fn certificate(file: &str, base64: &str) -> Result<Certificate, ListError> {
    let der = STANDARD.decode(base64).map_err(|_| Malformed);
    let parsed = der.and_then(|der| x509::parse(&der));
    let x509::Parsed { subject, not_after } = parsed.map_err(|source| malformed(file, source))?;
    Ok(Certificate {
        file: file.to_owned(),
        subject,
        expires: not_after.round(Unit::Second).unwrap_or(not_after),
    })
}

#[cfg(test)]
mod tests;
