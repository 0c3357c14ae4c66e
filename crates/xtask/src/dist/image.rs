//! An image with one static binary, as an OCI layout. Owners, times and compression are fixed, so that it is reproducible.

use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use serde_json::{Value, json};

use super::digest;

/// The user of the image, as in the manifests in `deploy/`.
const USER: u64 = 65532;

/// Writes the layout.
pub(super) fn write(binary: &[u8], folder: &Path) -> anyhow::Result<()> {
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let tar = layer(binary)?;
    let add = |media_type: &str, bytes: &[u8]| -> anyhow::Result<Value> {
        let digest = digest(bytes);
        fs::write(blobs.join(&digest), bytes)?;
        Ok(json!({
            "mediaType": format!("application/vnd.oci.image.{media_type}"),
            "digest": format!("sha256:{digest}"), "size": bytes.len(),
        }))
    };
    let layer = add("layer.v1.tar+gzip", &compress(&tar)?)?;
    let config = json!({
        "architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
        "config": {
            "Entrypoint": ["/outrigger"], "User": format!("{USER}:{USER}"), "WorkingDir": "/",
            "Labels": {"org.opencontainers.image.version": env!("CARGO_PKG_VERSION")},
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest(&tar))]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "cargo xtask dist"}],
    });
    let config = add("config.v1+json", &serde_json::to_vec(&config)?)?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer],
    });
    let mut manifest = add("manifest.v1+json", &serde_json::to_vec(&manifest)?)?;
    manifest["platform"] = json!({"architecture": "amd64", "os": "linux"});
    manifest["annotations"] =
        json!({"org.opencontainers.image.ref.name": env!("CARGO_PKG_VERSION")});
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
    });
    fs::write(folder.join("index.json"), serde_json::to_vec(&index)?)?;
    fs::write(
        folder.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    Ok(())
}

/// The file system: the binary, and an empty folder for temporary files.
fn layer(binary: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o1777);
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    tar.append_data(&mut header, "tmp/", std::io::empty())?;
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o755);
    header.set_size(binary.len() as u64);
    tar.append_data(&mut header, "outrigger", binary)?;
    Ok(tar.into_inner()?)
}

fn compress(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    std::io::Write::write_all(&mut gzip, bytes)?;
    Ok(gzip.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        for name in ["index.json", "oci-layout"] {
            files.push((name.to_owned(), fs::read(folder.join(name)).unwrap()));
        }
        for entry in fs::read_dir(folder.join("blobs/sha256")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read(path).unwrap()));
        }
        files.sort();
        files
    }

    #[test]
    fn a_layout_is_reproducible_and_each_blob_has_its_digest() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in &folders {
            write(b"a binary", folder.path()).unwrap();
        }
        let [first, second] = folders.each_ref().map(|folder| files(folder.path()));
        assert_eq!(first, second);
        assert_eq!(first.len(), 5);
        for (name, bytes) in first.iter().filter(|(name, _)| name.len() == 64) {
            assert_eq!(*name, digest(bytes));
        }
    }
}
