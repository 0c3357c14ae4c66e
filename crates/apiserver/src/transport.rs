//! HTTPS: certificates, credentials, connections, and the kubeconfig for clients.

mod certificates;
mod connections;
mod credentials;
mod host;
mod kubeconfig;
mod open_files;
mod serve;
mod tracked_body;

pub(crate) use connections::Connection;
pub use credentials::{CredentialsError, Damage, ServerCredentials};
pub use kubeconfig::{KUBECONFIG_NAME, KubeconfigError, Written, write_kubeconfig};
pub use open_files::raise_limit as raise_open_files_limit;
pub use serve::{ListenError, Listener};
