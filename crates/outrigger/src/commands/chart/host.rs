//! The host of templates without a cluster: system clock, random source, DNS and RSA keys.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::ToSocketAddrs as _;
use std::sync::mpsc::{Receiver, sync_channel};

use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::functions::rsa_key;
use outrigger_gotmpl::value::Value;

type KeyReceiver = Receiver<Result<Vec<u8>, CallError>>;

#[derive(Debug)]
pub(crate) struct LocalHost {
    zone: String,
    allow_dns: bool,
    /// By key size.
    key_generators: RefCell<BTreeMap<usize, KeyReceiver>>,
}

impl LocalHost {
    pub(crate) fn new(allow_dns: bool) -> Self {
        Self {
            zone: local_zone(),
            allow_dns,
            key_generators: RefCell::default(),
        }
    }

    /// Unix time.
    pub(crate) fn seconds(&self) -> i128 {
        self.now() / 1_000_000_000
    }
}

impl Host for LocalHost {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of templates")]
    fn now(&self) -> i128 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| {
            i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
        })
    }

    fn local_zone(&self) -> &str {
        &self.zone
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        // Not a generator of a library, which takes tens of milliseconds to seed.
        getrandom::fill(bytes).expect("the system has a random source");
    }

    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, CallError> {
        Ok(Value::map(Vec::new()))
    }

    fn host_by_name(&self, name: &str) -> String {
        if !self.allow_dns {
            return String::new();
        }
        let first = (name, 0)
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next());
        first.map_or_else(String::new, |address| address.ip().to_string())
    }

    fn lint_message(&self, text: &str) {
        super::source::warn(text.to_owned());
    }

    /// Returns the first key that any core finds. The search takes a random time: two cores reduce it to 0.6.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError> {
        let mut generators = self.key_generators.borrow_mut();
        let keys = generators
            .entry(bits)
            .or_insert_with(|| start_key_generators(bits));
        keys.recv()
            .unwrap_or_else(|_| Err(CallError::returned("failed to generate an RSA key")))
    }
}

/// Generates keys on all cores. Each thread blocks until its key is received, and runs until the process exits.
fn start_key_generators(bits: usize) -> KeyReceiver {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = sync_channel(0);
    for _ in 0..cores.min(8) {
        let sender = sender.clone();
        std::thread::spawn(move || while sender.send(rsa_key(bits)).is_ok() {});
    }
    receiver
}

/// As Go does: the zone that `TZ` names, or the one that `/etc/localtime` links to.
fn local_zone() -> String {
    if let Ok(zone) = std::env::var("TZ") {
        let zone = zone.strip_prefix(':').unwrap_or(&zone);
        return if zone.is_empty() {
            "UTC".to_owned()
        } else {
            zone.to_owned()
        };
    }
    let link = fs_err::read_link("/etc/localtime").unwrap_or_default();
    let link = link.to_string_lossy();
    link.split_once("zoneinfo/")
        .map_or_else(|| "UTC".to_owned(), |(_, zone)| zone.to_owned())
}
