//! `POST /api/charts`: a chart archive as the body, or as the part `chart` of a form, as `ChartMuseum` accepts it.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use outrigger_chart::load::archive::{MAX_ARCHIVE, read as read_archive};
use outrigger_chart::{Profile, from_files};
use outrigger_oci::{
    Algorithm, OCI_MANIFEST, chart_manifest, is_repository_path, is_tag, tag_of_version,
};
use serde_json::json;

use super::charts::{MAX_METADATA, ORIGIN, PREFIX};
use super::{query, read_body};
use crate::answer::{Answer, Failure, json_answer};
use crate::server::Context;
use crate::store::{Store, StoreError};

pub(super) async fn post(
    context: &Arc<Context>,
    request: Request<Incoming>,
) -> Result<Answer, Failure> {
    let parameters = query(&request);
    let origin = parameters
        .get("origin")
        .map_or("user", String::as_str)
        .to_owned();
    if !["system", "user"].contains(&origin.as_str()) {
        return Err(invalid("the origin of a chart is system or user"));
    }
    let is_forced = parameters.contains_key("force");
    let content_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let mut body = read_body(context, request.into_body(), MAX_ARCHIVE + (1 << 20)).await?;
    let bytes = std::mem::take(&mut body.bytes);
    let _unpacking = context.unpacking.acquire().await.ok();
    let chart = tokio::task::spawn_blocking(move || Uploaded::read(bytes, &content_type)).await;
    let chart = chart.unwrap_or_else(|_| Err(invalid("the archive cannot be read")))?;
    let (repository, tag) = (
        format!("{PREFIX}/{}", chart.name),
        tag_of_version(&chart.version),
    );
    if !is_repository_path(&repository) || !is_tag(&tag) {
        let message = format!(
            "chart {} {} cannot be a repository and a tag: the name has lowercase letters, digits and separators",
            chart.name, chart.version
        );
        return Err(invalid(&message));
    }
    let shared = Arc::clone(context);
    let saved = context
        .blocking(move |store| {
            // Of two uploads of one version, the second finds the first.
            let _saving = shared.charts.saving();
            chart.save(store, &repository, &tag, &origin, is_forced)
        })
        .await?;
    if !saved {
        return Err(Failure::new(
            StatusCode::CONFLICT,
            "DENIED",
            "the version exists with other contents; use ?force to replace it",
        ));
    }
    Ok(json_answer(
        StatusCode::CREATED,
        json!({"saved": true}).to_string(),
    ))
}

struct Uploaded {
    archive: Vec<u8>,
    config: Vec<u8>,
    name: String,
    version: String,
}

impl Uploaded {
    /// Reads the archive of a body.
    fn read(body: Vec<u8>, content_type: &str) -> Result<Self, Failure> {
        let archive = match boundary(content_type) {
            Some(boundary) => part(&body, boundary, "chart")
                .ok_or_else(|| invalid("the form has no part named chart"))?
                .to_vec(),
            None => body,
        };
        let not_valid = |error: &dyn std::fmt::Display| {
            invalid(&format!("the archive is not a chart: {error}"))
        };
        let files = read_archive(&archive, Profile::Helm4).map_err(|error| not_valid(&error))?;
        let mut metadata = files.iter().filter(|file| file.name == "Chart.yaml");
        let (first, other) = (metadata.next(), metadata.next());
        let metadata = first.ok_or_else(|| invalid("the archive has no Chart.yaml"))?;
        if other.is_some() {
            return Err(invalid("the archive has more than one chart"));
        }
        let metadata =
            outrigger_goyaml::parse_json(&metadata.data).map_err(|error| not_valid(&error))?;
        let chart =
            from_files(files, Profile::Helm4, &mut |_| {}).map_err(|error| not_valid(&error))?;
        let config = serde_json::to_vec(&metadata).map_err(|error| not_valid(&error))?;
        if config.len() as u64 > MAX_METADATA {
            let message = format!("its Chart.yaml has more than {MAX_METADATA} bytes");
            return Err(not_valid(&message));
        }
        Ok(Self {
            archive,
            config,
            name: chart.name().to_owned(),
            version: chart.metadata.version.clone(),
        })
    }

    /// Stores the chart. False if the version exists with other contents.
    fn save(
        &self,
        store: &Store,
        repository: &str,
        tag: &str,
        origin: &str,
        is_forced: bool,
    ) -> Result<bool, StoreError> {
        let annotations = BTreeMap::from([(ORIGIN.to_owned(), origin.to_owned())]);
        let manifest = chart_manifest(&self.config, &self.archive, annotations)?;
        if let Ok(existing) = store.resolve_tag(repository, tag)
            && existing != manifest.digest
            && !is_forced
        {
            return Ok(false);
        }
        store.put_blob(repository, &self.config)?;
        store.put_blob(repository, &self.archive)?;
        store.put_tagged(
            repository,
            &manifest.bytes,
            Some(OCI_MANIFEST),
            Algorithm::Sha256,
            &[tag.to_owned()],
        )?;
        Ok(true)
    }
}

fn invalid(message: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", message)
}

fn boundary(content_type: &str) -> Option<&str> {
    let rest = content_type.strip_prefix("multipart/form-data")?;
    let boundary = rest.split_once("boundary=")?.1;
    Some(
        boundary
            .split(';')
            .next()
            .unwrap_or(boundary)
            .trim()
            .trim_matches('"'),
    )
}

/// The content of a part of a form.
fn part<'a>(body: &'a [u8], boundary: &str, name: &str) -> Option<&'a [u8]> {
    let delimiter = format!("--{boundary}");
    let wanted = [format!("name=\"{name}\""), format!("name={name}")];
    let mut rest = body;
    loop {
        let start = find(rest, delimiter.as_bytes())? + delimiter.len();
        rest = rest.get(start..)?.strip_prefix(b"\r\n")?;
        let end_of_header = find(rest, b"\r\n\r\n")?;
        let header = String::from_utf8_lossy(&rest[..end_of_header]).into_owned();
        let content = &rest[end_of_header + 4..];
        let end = find(content, format!("\r\n{delimiter}").as_bytes())?;
        let disposition = header.lines().find(|line| {
            line.to_ascii_lowercase()
                .starts_with("content-disposition:")
        });
        let is_wanted = disposition.is_some_and(|line| {
            line.split(';')
                .any(|field| wanted.contains(&field.trim().to_owned()))
        });
        if is_wanted {
            return Some(&content[..end]);
        }
        rest = &content[end + 2..];
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len().max(1))
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_of_a_form_is_found_among_other_parts() {
        let body = b"--X\r\nContent-Disposition: form-data; name=\"prov\"\r\n\r\nno\r\n--X\r\nContent-Type: a/b\r\nContent-Disposition: form-data; name=\"chart\"; filename=\"a.tgz\"\r\n\r\n\x1f\x8b--X\r\n\r\n--X--\r\n";
        assert_eq!(boundary("multipart/form-data; boundary=\"X\""), Some("X"));
        assert_eq!(boundary("application/gzip"), None);
        assert_eq!(part(body, "X", "chart"), Some(&b"\x1f\x8b--X\r\n"[..]));
        assert_eq!(part(body, "X", "other"), None);
        for broken in [
            &b""[..],
            b"--X",
            b"--X\r\n",
            b"--X\r\nname=\"chart\"\r\n\r\nendless",
        ] {
            assert_eq!(part(broken, "X", "chart"), None);
        }
    }
}
