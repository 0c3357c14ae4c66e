//! The content type of a file that is not an archive, as Go's `http.DetectContentType` detects it.

/// Detects the type from the first 512 bytes. As in Helm, shorter files are padded with zeros.
pub(super) fn detect(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(512)];
    let signatures: [(&[u8], &str); 9] = [
        (b"%PDF-", "application/pdf"),
        (b"%!PS-Adobe-", "application/postscript"),
        (b"PK\x03\x04", "application/zip"),
        (b"Rar!\x1a\x07", "application/x-rar-compressed"),
        (b"\x00asm", "application/wasm"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
    ];
    let signature = signatures.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, name)) = signature {
        return name;
    }
    let text = head.trim_ascii_start();
    let starts_with_tag = |tag: &[u8]| {
        text.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && matches!(text.get(tag.len()), Some(b' ' | b'>'))
    };
    let tags: [&[u8]; 4] = [b"<!DOCTYPE HTML", b"<HTML", b"<HEAD", b"<BODY"];
    if tags.into_iter().any(starts_with_tag) {
        return "text/html; charset=utf-8";
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    let is_binary = |b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if head.len() < 512 || head.iter().any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain; charset=utf-8"
    }
}
