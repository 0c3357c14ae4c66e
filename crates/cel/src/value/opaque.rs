//! The types of the Kubernetes libraries: URLs, quantities, addresses, versions, named formats and authorization checks.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use outrigger_apimachinery::quantity::Quantity;
use outrigger_gostd::url::Url;

use super::authorization::Authorization;
use crate::error::Error;
use crate::functions::named_format::NamedFormat;
use crate::functions::semver::Version;
use crate::types::Type;

/// A value of a Kubernetes library.
#[derive(Debug, Clone)]
pub enum Opaque {
    Url(Arc<Url>),
    Quantity(Quantity),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Semver(Arc<Version>),
    Format(&'static NamedFormat),
    Authorization(Authorization),
}

impl Opaque {
    pub(crate) fn type_(&self) -> Type {
        match self {
            Self::Url(_) => Type::object("kubernetes.URL"),
            Self::Quantity(_) => Type::object("kubernetes.Quantity"),
            Self::Ip(_) => Type::opaque("net.IP"),
            Self::Cidr(..) => Type::opaque("net.CIDR"),
            Self::Semver(_) => Type::object("kubernetes.Semver"),
            Self::Format(_) => Type::object("kubernetes.NamedFormat"),
            Self::Authorization(authorization) => authorization.type_(),
        }
    }

    /// The size that the cost depends on.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(_, bits) => usize::from(bits.div_ceil(8)),
            _ => 1,
        }
    }

    pub(crate) fn equal(&self, other: &Self) -> Result<bool, Error> {
        match (self, other) {
            (Self::Url(one), Self::Url(other)) => Ok(one.to_bytes() == other.to_bytes()),
            (Self::Quantity(one), Self::Quantity(other)) => Ok(one == other),
            (Self::Ip(one), Self::Ip(other)) => Ok(one == other),
            (Self::Cidr(one, bits), Self::Cidr(other, other_bits)) => {
                Ok(one == other && bits == other_bits)
            }
            (Self::Semver(one), Self::Semver(other)) => {
                Ok(one.compare(other) == std::cmp::Ordering::Equal)
            }
            (Self::Format(one), Self::Format(other)) => Ok(one.name == other.name),
            _ => Err(Error::NoSuchOverload),
        }
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(&String::from_utf8_lossy(&url.to_bytes())),
            Self::Quantity(quantity) => f.write_str(&quantity.canonical()),
            Self::Ip(address) => address.fmt(f),
            Self::Cidr(address, bits) => write!(f, "{address}/{bits}"),
            Self::Semver(version) => version.fmt(f),
            Self::Format(format) => f.write_str(format.name),
            Self::Authorization(authorization) => authorization.type_().fmt(f),
        }
    }
}
