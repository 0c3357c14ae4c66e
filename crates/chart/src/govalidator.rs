//! The validators of govalidator that `helm lint` uses: `IsEmail`, `IsURL` and `IsRequestURL`.

/// Whether the text is a local part, `@` and a domain with a dot.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let is_quoted = name.len() > 2 && name.starts_with('"') && name.ends_with('"');
    let is_name = is_quoted
        || name
            .split('.')
            .all(|part| !part.is_empty() && part.chars().all(is_atom));
    is_name && is_domain(domain) && domain.contains('.')
}

/// Whether the text is a URL, with or without a scheme.
pub(crate) fn is_url(text: &str) -> bool {
    if text.len() <= 3 || text.chars().count() >= 2083 || text.starts_with('.') {
        return false;
    }
    let rest = match text.split_once("://") {
        Some((scheme, rest)) => {
            let known = ["ftp", "tcp", "udp", "ws", "wss", "http", "https"];
            if !known.contains(&scheme) {
                return false;
            }
            rest
        }
        None => text,
    };
    if rest.contains(char::is_whitespace) {
        return false;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return host.ends_with(']') || host.contains("]:");
    }
    let (host, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    is_port && (host == "localhost" || (is_domain(host) && host.contains('.')))
}

/// Whether the text is an absolute URL that a client could request.
pub(crate) fn is_request_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_clean = !text.chars().any(char::is_control);
    let authority = rest.strip_prefix("//").map(|rest| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        &rest[..end]
    });
    let has_blank = authority.is_some_and(|authority| authority.contains(' '));
    is_scheme && is_clean && !has_blank
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_edge = |c: char| c.is_alphanumeric();
        !label.is_empty()
            && label.starts_with(is_edge)
            && label.ends_with(is_edge)
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    !text.is_empty() && text.split('.').all(is_label)
}
