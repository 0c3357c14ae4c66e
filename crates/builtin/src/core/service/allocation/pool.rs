//! An in-memory allocator of addresses and ports, initialized from the existing Services.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::{AllocationError, Allocator, addresses, ports};

/// The addresses of a network and the ports of a range, each allocated at most once.
#[derive(Debug, Clone)]
pub struct Pool {
    network: Ipv4Addr,
    prefix: u8,
    ports: RangeInclusive<i64>,
    allocated_addresses: BTreeSet<u32>,
    allocated_ports: BTreeSet<i64>,
    next_address: u32,
    next_port: i64,
    is_dry_run: bool,
}

impl Pool {
    /// Creates a pool for a network such as `10.96.0.0` with prefix 16, and a range of ports.
    pub fn new(network: Ipv4Addr, prefix: u8, ports: RangeInclusive<i64>) -> Self {
        Self {
            network,
            prefix: prefix.clamp(8, 30),
            next_address: 1,
            next_port: *ports.start(),
            ports,
            allocated_addresses: BTreeSet::new(),
            allocated_ports: BTreeSet::new(),
            is_dry_run: false,
        }
    }

    /// A copy for a dry run, which has another message for addresses out of range, and does not check whether they are free.
    #[must_use]
    pub fn dry_run(&self) -> Self {
        let is_dry_run = true;
        Self {
            is_dry_run,
            ..self.clone()
        }
    }

    /// Marks the addresses and ports of an existing Service as allocated.
    pub fn add(&mut self, service: &Value) {
        for address in addresses(service) {
            if let Some(host) = self.host(&address) {
                self.allocated_addresses.insert(host);
            }
        }
        self.allocated_ports.extend(ports(service));
    }

    /// The number of usable addresses, without the first and the last.
    fn hosts(&self) -> u32 {
        u32::MAX
            .checked_shr(u32::from(self.prefix))
            .unwrap_or(0)
            .saturating_sub(1)
    }

    /// The offset of an address in the network.
    fn host(&self, address: &str) -> Option<u32> {
        let address: Ipv4Addr = address.parse().ok()?;
        let host = u32::from(address).checked_sub(u32::from(self.network))?;
        (1..=self.hosts()).contains(&host).then_some(host)
    }
}

impl Allocator for Pool {
    fn next_address(&mut self) -> Result<String, AllocationError> {
        let hosts = self.hosts();
        for _ in 0..hosts {
            let host = self.next_address;
            self.next_address = if host >= hosts {
                1
            } else {
                host.saturating_add(1)
            };
            if self.allocated_addresses.insert(host) {
                return Ok(Ipv4Addr::from(u32::from(self.network).saturating_add(host)).to_string());
            }
        }
        Err(AllocationError::Full)
    }

    fn allocate_address(&mut self, address: &str) -> Result<(), AllocationError> {
        let Some(host) = self.host(address) else {
            if !self.is_dry_run {
                return Err(AllocationError::NetworkMismatch);
            }
            return Err(AllocationError::AddressNotInRange {
                address: address.to_owned(),
                range: format!("{}/{}", self.network, self.prefix),
            });
        };
        if self.allocated_addresses.insert(host) || self.is_dry_run {
            return Ok(());
        }
        Err(AllocationError::AddressAllocated)
    }

    fn next_port(&mut self) -> Result<i64, AllocationError> {
        for _ in self.ports.clone() {
            let port = self.next_port;
            self.next_port = if port >= *self.ports.end() {
                *self.ports.start()
            } else {
                port.saturating_add(1)
            };
            if self.allocated_ports.insert(port) {
                return Ok(port);
            }
        }
        Err(AllocationError::Full)
    }

    fn allocate_port(&mut self, port: i64) -> Result<(), AllocationError> {
        if !self.ports.contains(&port) {
            return Err(AllocationError::PortNotInRange {
                range: format!("{}-{}", self.ports.start(), self.ports.end()),
            });
        }
        if self.allocated_ports.insert(port) {
            return Ok(());
        }
        Err(AllocationError::PortAllocated)
    }

    fn release_address(&mut self, address: &str) {
        if let Some(host) = self.host(address) {
            self.allocated_addresses.remove(&host);
            if self.next_address == host.saturating_add(1) {
                // Reuse the last address, so that a dry run has no side effects.
                self.next_address = host;
            }
        }
    }

    fn release_port(&mut self, port: i64) {
        self.allocated_ports.remove(&port);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocates_each_address_once_until_it_is_released() {
        let mut pool = Pool::new(Ipv4Addr::new(10, 96, 0, 0), 29, 30000..=30001);
        let all: Vec<_> = (0..6).map(|_| pool.next_address().unwrap()).collect();
        assert_eq!(all.first().unwrap(), "10.96.0.1");
        assert_eq!(all.last().unwrap(), "10.96.0.6");
        assert_eq!(
            pool.next_address().unwrap_err().to_string(),
            "range is full"
        );
        pool.release_address("10.96.0.3");
        assert_eq!(pool.next_address().unwrap(), "10.96.0.3");
    }

    #[test]
    fn rejects_what_is_allocated_or_out_of_range() {
        let mut pool = Pool::new(Ipv4Addr::new(10, 96, 0, 0), 16, 30000..=32767);
        pool.allocate_address("10.96.0.9").unwrap();
        assert_eq!(
            pool.allocate_address("10.96.0.9").unwrap_err().to_string(),
            "provided IP is already allocated"
        );
        assert_eq!(
            pool.allocate_address("10.97.0.9").unwrap_err().to_string(),
            "the provided network does not match the current range"
        );
        let mut dry_run = pool.dry_run();
        dry_run.allocate_address("10.96.0.9").unwrap();
        assert_eq!(
            dry_run
                .allocate_address("10.97.0.9")
                .unwrap_err()
                .to_string(),
            "the provided IP (10.97.0.9) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        );
        assert_eq!(
            pool.allocate_port(80).unwrap_err().to_string(),
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        );
    }
}
