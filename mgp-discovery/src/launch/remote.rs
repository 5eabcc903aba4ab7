//! Servers that run already.

use super::{Launch, LaunchError, document::Remote, fill::Filler, show};
use crate::config::model::{ServerConfig, TransportKind};

pub(super) fn launch(remote: &Remote, filler: &mut Filler<'_>) -> Result<Launch, LaunchError> {
    let transport = match remote.kind.as_str() {
        "streamable-http" | "streamable_http" | "streamable" | "http" => TransportKind::Http,
        "sse" => TransportKind::Sse,
        other => {
            return Err(LaunchError::Malformed { what: "transport of a remote", text: show::visible(other) });
        }
    };
    if remote.headers.len() > MAX_HEADERS {
        return Err(LaunchError::TooLarge { what: "headers", limit: MAX_HEADERS });
    }
    let url = filler.template("the url", &remote.url, &remote.variables)?;
    // Without all answers, nobody knows yet what it will be.
    if !filler.is_missing() && !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(LaunchError::Malformed { what: "http address", text: show::visible(&url) });
    }
    let mut notes = Vec::new();
    if url.starts_with("http://") {
        notes.push(
            "the connection is not encrypted: anybody on the way reads and changes what is said".to_owned(),
        );
    }
    let mut config = ServerConfig { url: Some(url), transport: Some(transport), ..ServerConfig::default() };
    for header in &remote.headers {
        let fit = !header.name.is_empty()
            && header
                .name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !fit {
            return Err(LaunchError::Malformed {
                what: "name of a header",
                text: show::visible(&header.name),
            });
        }
        if let Some(value) = filler.one(&header.name, &header.input)? {
            config.headers.insert(header.name.clone(), value);
        }
    }
    let shown = show::visible(config.url.as_deref().unwrap_or_default());
    Ok(Launch { config, shown, permissions: Vec::new(), variables: Vec::new(), notes })
}

const MAX_HEADERS: usize = 64;
