//! Bearer tokens of the registry's own token service: a scope and an expiry, signed with a key of this process.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::time::{Duration, Instant};

/// How long a token is valid. A transfer may take longer: requests are checked when they begin.
pub(crate) const LIFETIME: Duration = Duration::from_mins(5);

/// Signs and verifies tokens. After a restart, clients get new ones.
#[derive(Debug)]
pub(crate) struct Tokens {
    key: hmac::Key,
    started: Instant,
}

/// What a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Pull,
    Push,
}

impl Tokens {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
            started: Instant::now(),
        })
    }

    pub(crate) fn issue(&self, permission: Permission) -> String {
        self.issue_at(permission, self.started.elapsed())
    }

    fn issue_at(&self, permission: Permission, now: Duration) -> String {
        let expires = (now + LIFETIME).as_millis();
        let letter = if permission == Permission::Push {
            'w'
        } else {
            'r'
        };
        let claims = format!("{letter}{expires}");
        let signature = hmac::sign(&self.key, claims.as_bytes());
        format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(claims),
            URL_SAFE_NO_PAD.encode(signature)
        )
    }

    /// What a token permits; none if it is not valid.
    pub(crate) fn verify(&self, token: &str) -> Option<Permission> {
        self.verify_at(token, self.started.elapsed())
    }

    fn verify_at(&self, token: &str, now: Duration) -> Option<Permission> {
        let (claims, signature) = token.split_once('.')?;
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, &claims, &signature).ok()?;
        let claims = std::str::from_utf8(&claims).ok()?;
        let (letter, expires) = claims.split_at_checked(1)?;
        let is_valid = expires.parse::<u128>().ok()? > now.as_millis();
        let permission = if letter == "w" {
            Permission::Push
        } else {
            Permission::Pull
        };
        is_valid.then_some(permission)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_expire_and_cannot_be_forged() {
        let tokens = Tokens::new().unwrap();
        let token = tokens.issue(Permission::Push);
        assert_eq!(tokens.verify(&token), Some(Permission::Push));
        assert_eq!(
            tokens.verify(&tokens.issue(Permission::Pull)),
            Some(Permission::Pull)
        );
        assert_eq!(Tokens::new().unwrap().verify(&token), None);
        for forged in [
            "",
            ".",
            "dzk5OTk5OTk5OTk5.AAAA",
            &token[1..],
            &token[..token.len() - 1],
        ] {
            assert_eq!(tokens.verify(forged), None, "{forged}");
        }
        let token = tokens.issue_at(Permission::Push, Duration::ZERO);
        let almost = LIFETIME.mul_f32(0.99);
        assert_eq!(tokens.verify_at(&token, almost), Some(Permission::Push));
        assert_eq!(tokens.verify_at(&token, LIFETIME), None);
    }
}
