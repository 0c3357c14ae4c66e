//! A pool of addresses and ports that lives in memory and is filled from the Services that exist.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::{Allocator, addresses, ports};

/// Addresses of one network and ports of one range, each given out once.
#[derive(Debug, Clone)]
pub struct Pool {
    network: Ipv4Addr,
    prefix: u8,
    ports: RangeInclusive<i64>,
    taken_addresses: BTreeSet<u32>,
    taken_ports: BTreeSet<i64>,
    next_address: u32,
    next_port: i64,
    is_rehearsal: bool,
}

impl Pool {
    /// A pool of the addresses of a network, `10.96.0.0` and 16 for example, and of a range of ports.
    pub fn new(network: Ipv4Addr, prefix: u8, ports: RangeInclusive<i64>) -> Self {
        Self {
            network,
            prefix: prefix.clamp(8, 30),
            next_address: 1,
            next_port: *ports.start(),
            ports,
            taken_addresses: BTreeSet::new(),
            taken_ports: BTreeSet::new(),
            is_rehearsal: false,
        }
    }

    /// A copy for a dry run. It has other words for an address outside, and does not look whether one is taken.
    #[must_use]
    pub fn rehearsal(&self) -> Self {
        let is_rehearsal = true;
        Self {
            is_rehearsal,
            ..self.clone()
        }
    }

    /// Marks what a Service has that exists already.
    pub fn add(&mut self, service: &Value) {
        for address in addresses(service) {
            if let Some(host) = self.host(&address) {
                self.taken_addresses.insert(host);
            }
        }
        self.taken_ports.extend(ports(service));
    }

    /// How many addresses can be given out; the first and the last are not used.
    fn hosts(&self) -> u32 {
        (1 << (32 - u32::from(self.prefix))) - 2
    }

    /// The number of an address in the network.
    fn host(&self, address: &str) -> Option<u32> {
        let address: Ipv4Addr = address.parse().ok()?;
        let host = u32::from(address).checked_sub(u32::from(self.network))?;
        (1..=self.hosts()).contains(&host).then_some(host)
    }
}

impl Allocator for Pool {
    fn next_address(&mut self) -> Result<String, String> {
        let hosts = self.hosts();
        for _ in 0..hosts {
            let host = self.next_address;
            self.next_address = if host >= hosts { 1 } else { host + 1 };
            if self.taken_addresses.insert(host) {
                return Ok(Ipv4Addr::from(u32::from(self.network) + host).to_string());
            }
        }
        Err("range is full".to_owned())
    }

    fn take_address(&mut self, address: &str) -> Result<(), String> {
        let Some(host) = self.host(address) else {
            if !self.is_rehearsal {
                return Err("the provided network does not match the current range".to_owned());
            }
            return Err(format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is {}/{}",
                self.network, self.prefix
            ));
        };
        if self.taken_addresses.insert(host) || self.is_rehearsal {
            return Ok(());
        }
        Err("provided IP is already allocated".to_owned())
    }

    fn next_port(&mut self) -> Result<i64, String> {
        for _ in self.ports.clone() {
            let port = self.next_port;
            self.next_port = if port >= *self.ports.end() {
                *self.ports.start()
            } else {
                port + 1
            };
            if self.taken_ports.insert(port) {
                return Ok(port);
            }
        }
        Err("range is full".to_owned())
    }

    fn take_port(&mut self, port: i64) -> Result<(), String> {
        if !self.ports.contains(&port) {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                self.ports.start(),
                self.ports.end()
            ));
        }
        if self.taken_ports.insert(port) {
            return Ok(());
        }
        Err("provided port is already allocated".to_owned())
    }

    fn release_address(&mut self, address: &str) {
        if let Some(host) = self.host(address) {
            self.taken_addresses.remove(&host);
            if self.next_address == host + 1 {
                // It was the last one: a dry run leaves no trace.
                self.next_address = host;
            }
        }
    }

    fn release_port(&mut self, port: i64) {
        self.taken_ports.remove(&port);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_given_out_once_until_it_is_given_back() {
        let mut pool = Pool::new(Ipv4Addr::new(10, 96, 0, 0), 29, 30000..=30001);
        let all: Vec<_> = (0..6).map(|_| pool.next_address().unwrap()).collect();
        assert_eq!(all.first().unwrap(), "10.96.0.1");
        assert_eq!(all.last().unwrap(), "10.96.0.6");
        assert_eq!(pool.next_address().unwrap_err(), "range is full");
        pool.release_address("10.96.0.3");
        assert_eq!(pool.next_address().unwrap(), "10.96.0.3");
    }

    #[test]
    fn what_is_taken_or_outside_is_refused() {
        let mut pool = Pool::new(Ipv4Addr::new(10, 96, 0, 0), 16, 30000..=32767);
        pool.take_address("10.96.0.9").unwrap();
        assert_eq!(
            pool.take_address("10.96.0.9").unwrap_err(),
            "provided IP is already allocated"
        );
        assert_eq!(
            pool.take_address("10.97.0.9").unwrap_err(),
            "the provided network does not match the current range"
        );
        let mut rehearsal = pool.rehearsal();
        rehearsal.take_address("10.96.0.9").unwrap();
        assert_eq!(
            rehearsal.take_address("10.97.0.9").unwrap_err(),
            "the provided IP (10.97.0.9) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        );
        assert_eq!(
            pool.take_port(80).unwrap_err(),
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        );
    }
}
