//! Archives without end.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Attack, Expected};

const CHART: &[u8] = b"apiVersion: v2\nname: attack\nversion: 1.0.0\n";
const MAP: &[u8] = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: done}\n";

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(
            "archive of 12 GB of zeros",
            sparse,
            Expected::Error("x.tgz"),
        )
        .memory(100),
        Attack::new("gzip bomb of 10 GB", bomb, Expected::Error("")).memory(300),
        Attack::new(
            "name of 150 MB in an archive",
            long_name,
            Expected::Error(""),
        )
        .memory(300),
        Attack::new(
            "210,000 small files and a template last",
            many_files,
            Expected::Output("done"),
        )
        .memory(600),
        Attack::new("archive that ends early", truncated, Expected::Error("")).memory(100),
        Attack::new("names that leave the chart", escaping, Expected::Error("")).memory(100),
        Attack::new(
            "FIFO among the templates",
            |directory| special(directory, "mkfifo"),
            Expected::Error(""),
        )
        .memory(100),
        Attack::new(
            "template that is a dangling link",
            dangling,
            Expected::Error("link.yaml"),
        )
        .memory(100),
    ]
}

fn sparse(directory: &Path) -> anyhow::Result<PathBuf> {
    let path = directory.join("x.tgz");
    fs_err::File::create(&path)?.set_len(12 << 30)?;
    Ok(path)
}

/// A stream of zeros that compresses a thousandfold, in many members.
fn bomb(directory: &Path) -> anyhow::Result<PathBuf> {
    let mut member = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..100 {
        member.write_all(&zeros)?;
    }
    let member = member.finish()?;
    let path = directory.join("bomb.tgz");
    let mut file = fs_err::File::create(&path)?;
    for _ in 0..100 {
        file.write_all(&member)?;
    }
    Ok(path)
}

fn long_name(directory: &Path) -> anyhow::Result<PathBuf> {
    write(directory, |archive| {
        // GNU's extension for long names, which is not built in memory.
        let mut header = header(&[]);
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(150 << 20);
        header.set_cksum();
        archive.append(&header, std::io::repeat(b'n').take(150 << 20))?;
        append(archive, "attack/x", b"x")?;
        append(archive, "attack/Chart.yaml", CHART)
    })
}

fn many_files(directory: &Path) -> anyhow::Result<PathBuf> {
    write(directory, |archive| {
        append(archive, "attack/Chart.yaml", CHART)?;
        for number in 0..210_000 {
            append(archive, &format!("attack/files/{number}"), b"x")?;
        }
        append(archive, "attack/templates/last.yaml", MAP)
    })
}

fn truncated(directory: &Path) -> anyhow::Result<PathBuf> {
    let path = write(directory, |archive| {
        append(archive, "attack/Chart.yaml", CHART)?;
        let text: Vec<u8> = (0..1_000_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        append(archive, "attack/files/x", &text)
    })?;
    let length = fs_err::metadata(&path)?.len();
    fs_err::OpenOptions::new()
        .write(true)
        .open(&path)?
        .set_len(length / 2)?;
    Ok(path)
}

fn escaping(directory: &Path) -> anyhow::Result<PathBuf> {
    write(directory, |archive| {
        append(archive, "attack/Chart.yaml", CHART)?;
        append_raw(archive, b"attack/../../escaped.yaml", MAP)
    })
}

fn special(directory: &Path, program: &str) -> anyhow::Result<PathBuf> {
    let chart = super::write_chart(directory, "")?;
    let path = chart.join("templates/special.yaml");
    let status = crate::process::command_in(directory, program)
        .arg(path)
        .status()?;
    anyhow::ensure!(status.success(), "{program} failed");
    Ok(chart)
}

fn dangling(directory: &Path) -> anyhow::Result<PathBuf> {
    let chart = super::write_chart(directory, "")?;
    let path = chart.join("templates/link.yaml");
    std::os::unix::fs::symlink("/nonexistent/link.yaml", &path)?;
    Ok(chart)
}

type Archive = tar::Builder<GzEncoder<fs_err::File>>;

fn write(
    directory: &Path,
    fill: impl FnOnce(&mut Archive) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let path = directory.join("attack-1.0.0.tgz");
    let file = fs_err::File::create(&path)?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    fill(&mut archive)?;
    archive.into_inner()?.finish()?;
    Ok(path)
}

fn append(archive: &mut Archive, name: &str, content: &[u8]) -> anyhow::Result<()> {
    let mut header = header(content);
    Ok(archive.append_data(&mut header, name, content)?)
}

/// Appends an entry whose name the library would refuse.
fn append_raw(archive: &mut Archive, name: &[u8], content: &[u8]) -> anyhow::Result<()> {
    let mut header = header(content);
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_cksum();
    Ok(archive.append(&header, content)?)
}

fn header(content: &[u8]) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    header
}
