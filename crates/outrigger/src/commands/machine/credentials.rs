//! The flags for the credentials of a machine.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use outrigger_api::RedactedBytes;
use outrigger_api::machine::MachineAccess;
use outrigger_api::repository::SecretReference;

use crate::report::note;

#[derive(Debug, clap::Args)]
pub(super) struct CredentialFlags {
    /// Secret with `password`, or `privateKey` and optionally `passPhrase`
    #[arg(long, value_name = "NAMESPACE/NAME", group = "credentials")]
    secret: Option<String>,
    /// Private key, which is stored in the object
    #[arg(long, value_name = "FILE", group = "credentials")]
    private_key: Option<PathBuf>,
    /// Read the password from stdin; it is stored in the object
    #[arg(long, group = "credentials")]
    password_stdin: bool,
}

impl CredentialFlags {
    /// Sets the credentials, in place of others. Returns whether there are any.
    pub(super) fn set(&self, access: &mut MachineAccess) -> anyhow::Result<bool> {
        let given = if let Some(secret) = &self.secret {
            MachineAccess {
                secret_ref: Some(parse_reference(secret)?),
                ..MachineAccess::default()
            }
        } else if let Some(path) = &self.private_key {
            MachineAccess {
                private_key: Some(RedactedBytes::new(fs_err::read(path)?)),
                ..MachineAccess::default()
            }
        } else if self.password_stdin {
            MachineAccess {
                password: Some(read_password()?),
                ..MachineAccess::default()
            }
        } else {
            return Ok(false);
        };
        if given.secret_ref.is_none() {
            note(
                "everybody who may read the machine can read its credentials; --secret avoids that",
            );
        }
        access.secret_ref = given.secret_ref;
        access.private_key = given.private_key;
        access.password = given.password;
        access.passphrase = None;
        Ok(true)
    }
}

fn parse_reference(text: &str) -> anyhow::Result<SecretReference> {
    let (namespace, name) = text
        .split_once('/')
        .with_context(|| format!("{text:?} is not NAMESPACE/NAME"))?;
    Ok(SecretReference {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    })
}

fn read_password() -> anyhow::Result<RedactedBytes> {
    let mut password = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut password);
    read.context("failed to read the password from stdin")?;
    Ok(RedactedBytes::new(password.trim_end_matches(['\r', '\n'])))
}
