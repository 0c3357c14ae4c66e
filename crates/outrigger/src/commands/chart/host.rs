//! What templates get from this machine: its clock, its randomness, keys made on spare cores. No cluster.

use std::cell::OnceCell;
use std::net::ToSocketAddrs as _;
use std::sync::mpsc::{Receiver, sync_channel};

use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::functions::rsa_key;
use outrigger_gotmpl::value::Value;

/// The size of nearly all keys that charts ask for.
const USUAL_BITS: usize = 2048;

#[derive(Debug)]
pub(crate) struct LocalHost {
    zone: String,
    allow_dns: bool,
    spare_keys: OnceCell<Receiver<Vec<u8>>>,
}

impl LocalHost {
    pub(crate) fn new(allow_dns: bool) -> Self {
        Self {
            zone: local_zone(),
            allow_dns,
            spare_keys: OnceCell::new(),
        }
    }

    /// Seconds since 1970.
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
        // The system's own: a library's generator first gathers entropy for tens of milliseconds.
        getrandom::fill(bytes).expect("the system has randomness");
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

    /// The first call starts the spare cores; who asks for one key mostly asks for more.
    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError> {
        if bits == USUAL_BITS {
            let spare = self.spare_keys.get_or_init(start_key_makers);
            if let Ok(key) = spare.try_recv() {
                return Ok(key);
            }
        }
        rsa_key(bits)
    }
}

/// Makes keys on all cores but this one's, a few ahead of demand. The makers end with the process.
fn start_key_makers() -> Receiver<Vec<u8>> {
    let spare = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .saturating_sub(1)
        .min(4);
    let (sender, receiver) = sync_channel(spare * 2);
    for _ in 0..spare {
        let sender = sender.clone();
        std::thread::spawn(move || {
            while let Ok(key) = rsa_key(USUAL_BITS) {
                if sender.send(key).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// Go takes the zone from `TZ`, or from the link that the machine's zone is.
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
