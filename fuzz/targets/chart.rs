//! Any bytes as a chart archive: it loads or is refused; what loads is rendered or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outrigger_chart::{Profile, from_archive};

fuzz_target!(|bytes: &[u8]| {
    for profile in [Profile::Helm3, Profile::Helm4] {
        if let Err(error) = from_archive(bytes, profile, &mut |_| {}) {
            let _ = error.to_string();
        }
    }
});
