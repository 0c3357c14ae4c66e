//! The way in over HTTPS: certificates, tokens, connections, and the kubeconfig that leads here.

mod certificates;
mod credentials;
mod kubeconfig;
mod serve;

pub use credentials::{CredentialsError, ServerCredentials};
pub use kubeconfig::{KubeconfigError, write_kubeconfig};
pub use serve::{ListenError, Listener};
