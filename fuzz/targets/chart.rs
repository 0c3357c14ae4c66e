//! Any bytes as a chart: they load or are refused; what loads is rendered or refused, and always ends.
//!
//! The first byte says what the rest is: a bare `.tgz`, a tar that is packed here (else no input would get past the
//! checksum), or files, each begun by a line `=== NAME`.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use outrigger_chart::{Chart, File, Profile, RenderOptions, from_archive, from_files, render};
use outrigger_gotmpl::function::NullHost;
use outrigger_gotmpl::value::{Map, free_cycles};

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(tar).expect("memory takes everything");
    gzip.finish().expect("memory takes everything")
}

fn files(text: &[u8]) -> Vec<File> {
    let text = String::from_utf8_lossy(text);
    let files = text.split("=== ").skip(1);
    files
        .filter_map(|file| file.split_once('\n'))
        .map(|(name, data)| File::new(name, data))
        .collect()
}

fn load(kind: u8, rest: &[u8], profile: Profile) -> Option<Chart> {
    let chart = match kind {
        b'z' => from_archive(rest, profile, &mut |_| {}),
        b't' => from_archive(&packed(rest), profile, &mut |_| {}),
        _ => from_files(files(rest), profile, &mut |_| {}),
    };
    chart.map_err(|error| error.to_string()).ok()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    for profile in [Profile::Helm3, Profile::Helm4] {
        let Some(chart) = load(kind, rest, profile) else {
            continue;
        };
        let mut options = RenderOptions::new(profile, "fuzz", "default");
        options.limits.output_bytes = 1 << 20;
        options.limits.memory_bytes = 64 << 20;
        options.limits.steps = 100_000;
        if let Err(error) = render(&chart, &Map::default(), &options, &NullHost, &mut |_| {}) {
            let _ = error.to_string();
        }
        free_cycles();
    }
});
