//! HTTPS: certificates, credentials, connections, and the kubeconfig for clients.

mod certificates;
mod credentials;
mod kubeconfig;
mod serve;

pub use credentials::{CredentialsError, ServerCredentials};
pub use kubeconfig::{KubeconfigError, write_kubeconfig};
pub use serve::{ListenError, Listener};
