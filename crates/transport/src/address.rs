//! Addresses of the node itself, and those that are valid on its link only.

use std::net::{IpAddr, ToSocketAddrs as _};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Whether an address is that of the node itself, or only valid on its link, as those of cloud metadata services are.
pub fn is_local_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_link_local() || address.is_unspecified()
        }
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_local_address(IpAddr::V4(address)),
            None => {
                address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local()
            }
        },
    }
}

/// Whether the host of a URL is a local address. Names are checked when they are resolved, by [`PublicResolver`].
pub fn is_local_url(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_local_address(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_local_address(IpAddr::V6(address)),
        _ => false,
    }
}

/// Resolves names, except those of the node itself.
#[derive(Debug, Clone, Copy)]
pub struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let resolved = tokio::task::spawn_blocking(move || (host, 0).to_socket_addrs());
            let addresses: Vec<_> = resolved.await??.collect();
            if addresses
                .iter()
                .any(|address| is_local_address(address.ip()))
            {
                return Err("the name resolves to a loopback or link-local address".into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
