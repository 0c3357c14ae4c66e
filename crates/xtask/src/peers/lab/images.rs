//! The images of a release of Kubernetes. Their programs are the peers; other files are those of the root file system.

use std::collections::BTreeSet;
use std::path::Path;

use fs_err as fs;
use outrigger_peers::DROPBEAR;
use outrigger_peers::lab::{self, Release};

use super::archive::{Content, Image};
use crate::process::{command, output};

/// Writes an archive for each image.
pub(super) fn make(release: Release, folder: &Path) -> anyhow::Result<()> {
    for (name, reference) in release.image_references()? {
        let path = match name {
            "coredns" | "pause" | "app" => name.to_owned(),
            _ => format!("usr/local/bin/{name}"),
        };
        let mut image = Image::of_program(&reference, release.peer(name)?, &path)?;
        match name {
            "etcd" => add_etcd_tools(release, &mut image)?,
            "kube-proxy" => add_packet_filters(&mut image)?,
            "app" => add_shell(&mut image)?,
            _ => {}
        }
        image.write(&folder.join(format!("{name}.tar")))?;
    }
    Ok(())
}

/// The tools with which clusters are looked after, as the image of etcd has them.
fn add_etcd_tools(release: Release, image: &mut Image) -> anyhow::Result<()> {
    for name in ["etcdctl", "etcdutl"] {
        let program = Content::File(release.peer(name)?.installed()?);
        image.files.push((format!("usr/local/bin/{name}"), program));
    }
    image.folders.push("var/lib/etcd");
    Ok(())
}

/// kube-proxy runs iptables, nft and conntrack, which need their libraries and extensions.
fn add_packet_filters(image: &mut Image) -> anyhow::Result<()> {
    let root = lab::root()?;
    let architecture = std::env::consts::ARCH;
    let extensions = format!("usr/lib/{architecture}-linux-gnu/xtables");
    let programs = ["xtables-nft-multi", "nft", "conntrack"].map(|name| format!("usr/sbin/{name}"));
    let mut files: BTreeSet<String> = programs.into();
    files.insert("usr/bin/kmod".to_owned());
    for entry in fs::read_dir(root.join(&extensions))? {
        let name = entry?.file_name();
        files.insert(format!("{extensions}/{}", name.display()));
    }
    let libraries = output(command("chroot", &root).args([".", "ldd"]).args(&files))?;
    files.extend(libraries.lines().filter_map(library));
    let contents = files
        .into_iter()
        .map(|path| (path.clone(), Content::File(root.join(path))));
    image.files.extend(contents);
    let commands = ["iptables", "ip6tables"].into_iter().flat_map(|name| {
        ["", "-save", "-restore"].map(|suffix| format!("usr/sbin/{name}{suffix}"))
    });
    let link = || Content::Link("xtables-nft-multi".to_owned());
    image.files.extend(commands.map(|path| (path, link())));
    image.folders.extend(["run", "lib/modules"]);
    Ok(())
}

/// The path of a library in a line of ldd: `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)`.
fn library(line: &str) -> Option<String> {
    let (path, _) = line.split_once(" (0x")?;
    let path = path.split_whitespace().last()?;
    path.strip_prefix('/').map(str::to_owned)
}

/// The programs of busybox, for `kubectl exec`.
fn add_shell(image: &mut Image) -> anyhow::Result<()> {
    let busybox = DROPBEAR.folder()?.join("bin/busybox");
    let folder = DROPBEAR.folder()?;
    let applets = output(command(&busybox, &folder).arg("--list"))?;
    let applets = applets.lines().filter(|name| *name != "busybox");
    let link = |name: &str| {
        let target = Content::Link("busybox".to_owned());
        (format!("bin/{name}"), target)
    };
    image.files.extend(applets.map(link));
    let user = Content::Text("root:x:0:0:root:/:/bin/sh\n");
    image.files.extend([
        ("bin/busybox".to_owned(), Content::File(busybox)),
        ("etc/passwd".to_owned(), user),
    ]);
    image.folders.push("tmp");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_libraries_in_the_output_of_ldd() {
        let lines = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tstatically linked\n";
        let found: Vec<_> = lines.lines().filter_map(library).collect();
        let expected = [
            "lib/x86_64-linux-gnu/libmnl.so.0",
            "lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(found, expected);
    }
}
