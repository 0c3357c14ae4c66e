//! Any bytes as an archive: they are read or refused within the limits. The first byte says what the rest is: a bare
//! `.tgz`, a tar that is packed here (else no input would get past the checksum), or entries, each begun by a line
//! `=== TYPE SIZE NAME`, whose headers are valid.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use outrigger_chart::load::archive::{MAX_FILE, MAX_TOTAL, read};
use outrigger_chart::{Profile, from_archive};
use tar::{EntryType, Header};

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(tar).expect("memory takes everything");
    gzip.finish().expect("memory takes everything")
}

/// A tar with one entry for each line, whose size may be a lie.
fn entries(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut tar = Vec::new();
    for entry in text.split("=== ").skip(1) {
        let (line, data) = entry.split_once('\n').unwrap_or((entry, ""));
        let mut fields = line.splitn(3, ' ');
        let kind = fields.next().and_then(|kind| kind.bytes().next());
        let size = fields.next().and_then(|size| size.parse().ok());
        let name = fields.next().unwrap_or_default().as_bytes();
        let mut header = Header::new_gnu();
        let used = name.len().min(100);
        header.as_mut_bytes()[..used].copy_from_slice(&name[..used]);
        header.set_entry_type(EntryType::new(kind.unwrap_or(b'0')));
        header.set_size(size.unwrap_or(data.len() as u64));
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(data.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    let archive = match kind {
        b'z' => rest.to_vec(),
        b't' => packed(rest),
        _ => packed(&entries(rest)),
    };
    for profile in [Profile::Helm3, Profile::Helm4] {
        match read(&archive, profile) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(files) => {
                let total: usize = files.iter().map(|file| file.data.len()).sum();
                assert!(total as u64 <= MAX_TOTAL);
                for file in &files {
                    assert!(file.data.len() as u64 <= MAX_FILE);
                    assert!(!file.name.starts_with('/') && !file.name.starts_with(".."));
                }
            }
        }
        if let Err(error) = from_archive(&archive, profile, &mut |_| {}) {
            let _ = error.to_string();
        }
    }
});
