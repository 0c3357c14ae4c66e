//! Built packages that nobody builds: each with the error that names what is wrong. `tests/broken-built/CASE.txt` has the errors.
//!
//! `UPDATE=1 cargo test -p outrigger-expansion` writes them. Review them like code.

use std::path::Path;

use outrigger_expansion::verify;
use outrigger_oci::Digest;
use serde_json::json;
use tar::EntryType;

use crate::corpus::listing;
use crate::forge::{DEFINITION, Forged, entry, special, with_header};
use crate::sample::{chain, open_package};

type Case = (&'static str, fn(&mut Forged));

/// Entries that no package has.
const ENTRIES: &[Case] = &[
    ("a-symbolic-link", |forged| {
        forged.entries[1] = special(EntryType::Symlink, "files/etc/a", b"");
    }),
    ("a-symbolic-link-at-the-beginning", |forged| {
        forged
            .first
            .push(special(EntryType::Symlink, "files/link", b""));
    }),
    ("a-hard-link", |forged| {
        forged
            .entries
            .insert(1, special(EntryType::Link, "files/hard", b""));
    }),
    ("a-device", |forged| {
        forged
            .entries
            .insert(1, special(EntryType::Char, "files/null", b""));
    }),
    ("a-block-device", |forged| {
        forged
            .entries
            .insert(0, special(EntryType::Block, "files/sda", b""));
    }),
    ("a-named-pipe", |forged| {
        forged
            .entries
            .push(special(EntryType::Fifo, "files/pipe", b""));
    }),
    ("a-folder", |forged| {
        forged
            .entries
            .insert(1, special(EntryType::Directory, "files/etc/", b""));
    }),
    ("an-extended-header", |forged| {
        let record = b"30 path=../../../../etc/passwd";
        forged
            .entries
            .insert(1, special(EntryType::XHeader, "pax", record));
    }),
    ("a-long-name-of-gnu", |forged| {
        let name = b"../../etc/passwd";
        forged
            .entries
            .insert(1, special(EntryType::GNULongName, "././@LongLink", name));
    }),
    ("a-path-that-leaves-the-package", |forged| {
        forged.entries.insert(1, entry("files/../../x", b"x"));
    }),
    (
        "a-path-that-leaves-the-package-at-the-beginning",
        |forged| {
            forged.first.push(entry("../x", b"x"));
        },
    ),
    ("an-absolute-path", |forged| {
        forged.entries.insert(1, entry("/etc/cron.d/x", b"x"));
    }),
    ("an-absolute-path-at-the-end", |forged| {
        forged.entries.push(entry("/etc/cron.d/x", b"x"));
    }),
    ("an-entry-twice", |forged| {
        let first = forged.entries[0].clone();
        forged.entries.insert(1, first);
    }),
    ("an-entry-twice-at-the-end", |forged| {
        let first = forged.entries[0].clone();
        forged.entries.push(first);
    }),
    ("an-entry-that-is-not-locked", |forged| {
        forged.entries.insert(1, entry("files/etc/b", b"b"));
    }),
    ("an-entry-after-the-last", |forged| {
        forged.entries.push(entry("files/etc/b", b"b"));
    }),
    ("entries-in-another-order", |forged| {
        forged.entries.reverse();
    }),
    ("an-entry-missing", |forged| {
        forged.entries.remove(0);
    }),
    ("the-last-entry-missing", |forged| {
        forged.entries.pop();
    }),
    ("an-entry-with-another-mode", |forged| {
        forged.entries[1] = with_header(EntryType::Regular, "files/etc/a", b"a\n", |header| {
            header.set_mode(0o4755);
        });
    }),
    ("an-entry-with-an-owner", |forged| {
        forged.entries[1] = with_header(EntryType::Regular, "files/etc/a", b"a\n", |header| {
            header.set_uid(1000);
        });
    }),
    ("an-entry-with-another-size", |forged| {
        forged.entries[1] = entry("files/etc/a", b"aaaa\n");
    }),
    ("an-entry-with-other-content", |forged| {
        forged.entries[1] = entry("files/etc/a", b"b\n");
    }),
    ("an-entry-with-data-after-its-content", |forged| {
        let last = forged.entries[1].len() - 1;
        forged.entries[1][last] = 1;
    }),
    ("a-header-that-is-damaged", |forged| {
        forged.entries[1][3] = b'X';
    }),
];

/// Documents that describe no package.
const DOCUMENTS: &[Case] = &[
    ("root-missing", |forged| {
        forged
            .first
            .push(entry("expansion.yaml", DEFINITION.as_bytes()));
    }),
    ("root-of-a-newer-format", |forged| {
        forged.root = json!({"formatVersion": 2, "name": "forged", "new": true});
    }),
    ("root-without-a-version", |forged| {
        forged.root = json!({"name": "forged"});
    }),
    ("root-with-an-unknown-field", |forged| {
        forged.root["x"] = json!(1);
    }),
    ("root-that-is-not-json", |forged| {
        forged.root_text = Some("name: forged\n".to_owned());
    }),
    ("root-that-is-too-large", |forged| {
        forged.root_text = Some(" ".repeat(300 << 10));
    }),
    ("root-with-an-invalid-platform", |forged| {
        forged.root["platforms"] = json!(["amd64"]);
    }),
    ("root-with-another-name", |forged| {
        forged.root["name"] = json!("trusted");
        forged.root["version"] = json!("1.0.0");
    }),
    ("root-twice", |forged| {
        forged.after_root.push(entry(".outrigger/root.json", b"{}"));
    }),
    ("an-entry-after-the-signatures", |forged| {
        forged
            .after_root
            .push(entry(".outrigger/signatures.json", b"{}"));
        forged.after_root.push(entry("files/etc/a", b"a\n"));
    }),
    ("signatures-that-are-too-large", |forged| {
        let large = vec![b' '; 300 << 10];
        forged
            .after_root
            .push(entry(".outrigger/signatures.json", &large));
    }),
    ("lock-of-another-package", |forged| {
        forged.root["lock"] = json!({"digest": Digest::of(b"other"), "size": 300});
    }),
    ("lock-with-another-digest", |forged| {
        let size = format!("{:#}\n", forged.lock).len();
        forged.root["lock"] = json!({"digest": Digest::of(b"other"), "size": size});
    }),
    ("lock-that-is-too-large", |forged| {
        forged.root["lock"] = json!({"digest": Digest::of(b""), "size": 1_u64 << 40});
    }),
    ("lock-of-a-newer-format", |forged| {
        forged.lock["formatVersion"] = json!(7);
    }),
    ("lock-with-an-unknown-field", |forged| {
        forged.lock["x"] = json!(1);
    }),
    ("lock-with-a-path-that-leaves-the-package", |forged| {
        forged.add("files/../../../etc/cron.d/x", b"x");
    }),
    ("lock-with-an-absolute-path", |forged| {
        forged.add("/etc/cron.d/x", b"x");
    }),
    ("lock-with-a-file-twice", |forged| {
        forged.add("files/etc/a", b"b");
    }),
    ("lock-with-a-file-as-a-folder", |forged| {
        forged.add("files/etc/a/b", b"b");
    }),
    ("lock-with-a-reserved-name", |forged| {
        forged.add(".outrigger/root.json", b"{}");
    }),
    ("lock-with-a-control-character", |forged| {
        forged.add("files/\u{1b}[2Kx", b"x");
    }),
    ("lock-with-an-invalid-mode", |forged| {
        forged.lock["files"][0]["mode"] = json!("u+s");
    }),
    ("lock-with-a-setuid-mode", |forged| {
        forged.lock["files"][0]["mode"] = json!("4755");
    }),
    ("lock-with-an-invalid-digest", |forged| {
        forged.lock["files"][0]["digest"] = json!("md5:00");
    }),
    ("lock-with-an-endless-file", |forged| {
        forged.lock["files"][0]["size"] = json!(u64::MAX);
    }),
    ("lock-with-a-bomb", |forged| {
        forged.lock["files"][1]["size"] = json!(1_u64 << 43);
    }),
    ("lock-of-a-delta-without-a-base", |forged| {
        forged.lock["files"][1]["inBase"] = json!(true);
        forged.entries.pop();
    }),
    ("lock-with-a-blob-twice", |forged| {
        let blob = json!({"digest": Digest::of(b"x"), "size": 1});
        forged.lock["blobs"] = json!([blob, blob]);
    }),
];

/// Archives that do not end where they should.
const ENDS: &[Case] = &[
    ("no-end-of-the-tar", |forged| forged.end.clear()),
    ("half-an-end-of-the-tar", |forged| forged.end.truncate(512)),
    ("data-after-the-end-of-the-tar", |forged| {
        forged.end.resize(10_000, 7);
    }),
    ("zeros-after-the-end-of-the-tar", |forged| {
        forged.end.resize(10_240, 0);
    }),
    ("an-entry-after-the-end-of-the-tar", |forged| {
        forged.end.extend(entry("files/etc/b", b"b"));
    }),
    ("no-digest-at-the-end", |forged| forged.has_digest = false),
    ("another-frame-instead-of-the-digest", |forged| {
        forged.has_digest = false;
        forged.tail = zstd::encode_all(&b"more"[..], 1).unwrap();
    }),
    ("data-after-the-digest", |forged| {
        forged.tail = b"more".to_vec();
    }),
    ("a-package-after-the-package", |forged| {
        forged.tail = Forged::new().bytes();
    }),
];

/// Images that are incomplete.
const IMAGES: &[Case] = &[
    ("images-without-an-index", |forged| {
        forged.lock["images"] = json!({"example.com/web:1": Digest::of(b"x")});
    }),
    ("images-that-the-index-does-not-have", |forged| {
        add_images(forged, &json!({"schemaVersion": 2, "manifests": []}));
        forged.lock["images"] = json!({"example.com/web:1": Digest::of(b"x")});
    }),
    ("images-without-their-manifest", |forged| {
        let digest = Digest::of(b"gone");
        add_images(forged, &index_of(&digest, 4));
        forged.lock["images"] = json!({"example.com/web:1": digest});
    }),
    ("images-without-a-layer", |forged| {
        add_image(forged, &Digest::of(b"layer"), &[]);
    }),
    ("images-with-a-layer-of-another-size", |forged| {
        add_image(forged, &Digest::of(b"larger"), &[b"larger"]);
    }),
    ("images-with-a-blob-of-no-image", |forged| {
        add_image(forged, &Digest::of(b"layer"), &[b"layer", b"stray"]);
    }),
    ("images-with-an-invalid-manifest", |forged| {
        add_images(forged, &index_of(&Digest::of(b"{}"), 2));
        forged.lock["images"] = json!({"example.com/web:1": Digest::of(b"{}")});
        add_blobs(forged, "manifests", &[b"{}"]);
    }),
];

fn index_of(digest: &Digest, size: usize) -> serde_json::Value {
    let name = json!({"org.opencontainers.image.ref.name": "example.com/web:1"});
    json!({"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": digest,
        "size": size,
        "annotations": name,
    }]})
}

fn add_images(forged: &mut Forged, index: &serde_json::Value) {
    forged.add("images/index.json", index.to_string().as_bytes());
    let definition = format!("{DEFINITION}images: [example.com/web:1]\n");
    forged.entries[0] = entry("expansion.yaml", definition.as_bytes());
    let file = &mut forged.lock["files"][0];
    file["size"] = json!(definition.len());
    file["digest"] = json!(Digest::of(definition.as_bytes()));
}

fn add_blobs(forged: &mut Forged, list: &str, contents: &[&[u8]]) {
    let mut blobs: Vec<(Digest, &[u8])> = contents
        .iter()
        .map(|content| (Digest::of(content), *content))
        .collect();
    blobs.sort();
    for (digest, content) in &blobs {
        let path = format!("images/blobs/sha256/{}", digest.hex());
        forged.entries.push(entry(&path, content));
    }
    let blobs = blobs
        .iter()
        .map(|(digest, content)| json!({"digest": digest, "size": content.len()}));
    forged.lock[list] = blobs.collect();
}

/// An image with one layer of five bytes, and these blobs.
fn add_image(forged: &mut Forged, layer: &Digest, blobs: &[&[u8]]) {
    let manifest = json!({"schemaVersion": 2, "layers": [{
        "mediaType": "application/vnd.oci.image.layer.v1.tar",
        "digest": layer,
        "size": 5,
    }]})
    .to_string();
    let digest = Digest::of(manifest.as_bytes());
    add_images(forged, &index_of(&digest, manifest.len()));
    forged.lock["images"] = json!({"example.com/web:1": digest});
    add_blobs(forged, "manifests", &[manifest.as_bytes()]);
    add_blobs(forged, "blobs", blobs);
}

/// The error of a file, or its findings.
fn found(path: &Path) -> String {
    let text = match open_package(path) {
        Ok(opened) => listing(&verify(&opened.scanned)),
        Err(error) => {
            let hint = error.hint();
            let hint = hint.map(|hint| format!("  hint: {hint}\n"));
            chain(&error) + &hint.unwrap_or_default()
        }
    };
    let folder = path.parent().unwrap().display().to_string();
    text.replace(&format!("{folder}/"), "")
}

#[test]
fn archives_that_are_forged_have_exactly_the_expected_errors() {
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken-built");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.tar.zst");
    fs_err::write(&path, Forged::new().bytes()).unwrap();
    assert_eq!(found(&path), "");
    let cases = || [ENTRIES, DOCUMENTS, ENDS, IMAGES].concat();
    let mut differences = String::new();
    for (name, forge) in cases() {
        let mut forged = Forged::new();
        forge(&mut forged);
        fs_err::write(&path, forged.bytes()).unwrap();
        let found = found(&path);
        assert_ne!(found, "", "{name} has nothing wrong");
        let file = expected.join(format!("{name}.txt"));
        if std::env::var_os("UPDATE").is_some() {
            fs_err::create_dir_all(&expected).unwrap();
            fs_err::write(&file, &found).unwrap();
        }
        let expected = fs_err::read_to_string(&file).unwrap_or_default();
        if found != expected {
            differences.push_str(&format!(
                "{name}\n--- expected\n{expected}--- found\n{found}\n"
            ));
        }
    }
    assert!(differences.is_empty(), "{differences}");
    // A file that no case writes is of a case that is gone.
    assert_eq!(fs_err::read_dir(expected).unwrap().count(), cases().len());
}

#[test]
fn files_of_other_kinds_are_not_called_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let not_built = |content: &[u8]| {
        fs_err::write(&path, content).unwrap();
        found(&path).lines().next().unwrap().to_owned()
    };
    let expected = "a is not a built package: it is not compressed with zstd";
    for content in [&b""[..], b"PK\x03\x04", b"name: demo\n", &[0x1f, 0x8b, 8]] {
        assert_eq!(not_built(content), expected);
    }
    let text = zstd::encode_all(&b"text"[..], 1).unwrap();
    assert!(not_built(&text).starts_with("a is damaged or truncated"));
    let empty = zstd::encode_all(&b""[..], 1).unwrap();
    assert_eq!(not_built(&empty), "a is not a built package: it is empty");
    // A window of 128 MiB, which no package needs.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    std::io::Write::write_all(&mut encoder, b"text").unwrap();
    fs_err::write(&path, encoder.finish().unwrap()).unwrap();
    assert!(
        found(&path).contains("requires too much memory"),
        "{}",
        found(&path)
    );
    let tar = zstd::encode_all(&[1; 1024][..], 1).unwrap();
    assert_eq!(not_built(&tar), "a is not a built package: it is not a tar");
}
