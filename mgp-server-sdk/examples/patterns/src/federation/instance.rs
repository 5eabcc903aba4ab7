//! The instances: kernels elsewhere, with their addresses, keys and certificates.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use http::{HeaderValue, Uri};
use memchr::memmem;
use mgp_discovery::config::Secret;

/// A kernel elsewhere, and all that its connection needs.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) name: InstanceName,
    pub(super) url: InstanceUrl,
    pub(super) key: ApiKey,
    pub(super) authorities: Option<Authorities>,
}

/// The certificates that are trusted for one instance besides those of the public authorities.
#[derive(Debug, Clone)]
pub(super) struct Authorities {
    /// The file, as the command line names it.
    pub(super) file: String,
    pub(super) pem: Vec<u8>,
}

/// The name of an instance: up to 32 letters, digits and `-`, so that the first dot behind it ends it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InstanceName(String);

/// The URL of an instance: `https`, or `http` at the loopback address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstanceUrl(String);

/// The key with which this program proves itself to an instance, and the variable that it came from.
#[derive(Debug, Clone)]
pub(super) struct ApiKey {
    pub(super) variable: String,
    key: Secret,
}

/// An option `NAME=VALUE` about one instance.
#[derive(Debug, Clone)]
pub(crate) struct OfInstance<T> {
    pub(super) name: InstanceName,
    pub(super) value: T,
}

impl InstanceName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceName {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        ensure!(
            !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_letter),
            "`{name}` is no name of an instance: write up to {LONGEST_NAME} letters, digits and `-`"
        );
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl InstanceUrl {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceUrl {
    type Err = anyhow::Error;

    /// Reads a URL. Only TLS proves who answers, so that plain HTTP stays on this machine; and a URL is an argument,
    /// which every user of the machine can read, so that it holds no secret.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let url: Uri = text.parse().with_context(|| format!("`{text}` is no URL"))?;
        let host = url.host().with_context(|| format!("`{text}` names no host"))?;
        ensure!(
            !text.contains(['@', '?', '#']),
            "a URL with a user, a query or a fragment is refused: the key comes from the environment, by `--key-env`"
        );
        match url.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback(host) => {}
            Some("http") => bail!("`{text}` is beyond this machine and not protected: write `https`"),
            _ => bail!("`{text}` is no URL of `https`"),
        }
        Ok(Self(text.to_owned()))
    }
}

impl ApiKey {
    /// Reads the key in a variable of the environment.
    pub(super) fn read(variable: &str) -> anyhow::Result<Self> {
        let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
        let key = key.with_context(|| {
            format!("the variable `{variable}` is not set: put a key of `mgp keys new` into it, as docs/patterns/federation.md shows")
        })?;
        Ok(Self::new(variable, key))
    }

    /// Creates the key that was in `variable`.
    pub(super) fn new(variable: &str, key: impl Into<String>) -> Self {
        Self { variable: variable.to_owned(), key: key.into().into() }
    }

    /// Returns the header that carries the key.
    pub(super) fn header(&self) -> anyhow::Result<HeaderValue> {
        let header = HeaderValue::from_str(&format!("Bearer {}", self.key.expose()));
        // The cause would show the key.
        let Ok(mut header) = header else {
            bail!("the key in `{}` has characters that no key has", self.variable)
        };
        header.set_sensitive(true);
        Ok(header)
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for OfInstance<T> {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, value) =
            text.split_once('=').with_context(|| format!("`{text}` lacks a `=`: write NAME=VALUE"))?;
        let value = value.parse().map_err(|error: T::Err| anyhow::Error::msg(error.to_string()))?;
        Ok(Self { name: name.parse()?, value })
    }
}

/// Joins the options about instances: each instance needs a URL and a key.
pub(super) fn instances(
    urls: &[OfInstance<InstanceUrl>],
    variables: &[OfInstance<String>],
    authorities: &[OfInstance<String>],
) -> anyhow::Result<Vec<Instance>> {
    ensure!(urls.len() <= MAX_INSTANCES, "{} instances are too many: {MAX_INSTANCES} at most", urls.len());
    let mut variables = by_name("--key-env", variables)?;
    let mut authorities = by_name("--ca", authorities)?;
    let urls = by_name("--instance", urls)?;
    let instances = urls.into_iter().map(|(name, url)| {
        let variable = variables
            .remove(name)
            .with_context(|| format!("the instance `{name}` has no key: add `--key-env {name}=VARIABLE`"))?;
        let authorities = authorities.remove(name).map(|file| Authorities::read(file)).transpose()?;
        Ok(Instance { name: name.clone(), url: url.clone(), key: ApiKey::read(variable)?, authorities })
    });
    let instances = instances.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(name) = variables.keys().chain(authorities.keys()).next() {
        bail!("there is no instance `{name}`: add `--instance {name}=URL`");
    }
    Ok(instances)
}

fn by_name<'a, T>(
    option: &str,
    all: &'a [OfInstance<T>],
) -> anyhow::Result<BTreeMap<&'a InstanceName, &'a T>> {
    let mut found = BTreeMap::new();
    for OfInstance { name, value } in all {
        ensure!(found.insert(name, value).is_none(), "`{option}` names `{name}` twice");
    }
    Ok(found)
}

impl Authorities {
    fn read(file: &str) -> anyhow::Result<Self> {
        let unreadable = || format!("the certificates in {file} cannot be read");
        let length = Path::new(file).metadata().with_context(unreadable)?.len();
        ensure!(length <= MAX_CERTIFICATE_BYTES, "{file} is too long for a file of certificates");
        let pem = std::fs::read(file).with_context(unreadable)?;
        ensure!(
            memmem::find(&pem, BEGIN.as_bytes()).is_some(),
            "{file} holds nothing that begins with `{BEGIN}`"
        );
        Ok(Self { file: file.to_owned(), pem })
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

/// The length of the longest name. With `remote.` and the id of a server it still is an id.
const LONGEST_NAME: usize = 32;
const MAX_INSTANCES: usize = 16;
/// The first line of a certificate in PEM.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const MAX_CERTIFICATE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    // covers: P-3-07
    #[test]
    fn only_tls_leaves_this_machine() {
        for url in [
            "https://kernel.example.com/mcp",
            "http://127.0.0.1:7332/mcp",
            "http://[::1]:1/mcp",
            "http://localhost/mcp",
        ] {
            assert!(url.parse::<InstanceUrl>().is_ok(), "{url}");
        }
        for url in [
            "http://kernel.example.com/mcp",
            "http://10.0.0.1/mcp",
            "http://localhost.example.com/mcp",
            "http://127.0.0.1.example.com/",
            "ftp://127.0.0.1/",
            "/mcp",
            "",
            "unix:/run/mgp.sock",
        ] {
            assert!(url.parse::<InstanceUrl>().is_err(), "{url}");
        }
    }

    #[test]
    fn a_url_with_a_secret_in_it_is_refused() {
        for url in ["https://ada:secret@example.com/mcp", "https://example.com/mcp?key=secret"] {
            let error = url.parse::<InstanceUrl>().unwrap_err().to_string();
            assert!(error.contains("--key-env") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_instance_needs_a_key_and_every_option_an_instance() {
        let urls = ["prod=https://example.com/mcp".parse().unwrap()];
        let error = instances(&urls, &[], &[]).unwrap_err().to_string();
        assert!(error.contains("--key-env prod=VARIABLE"), "{error}");
        let unset = ["prod=MGP_TEST_NO_SUCH_VARIABLE".parse().unwrap()];
        let error = instances(&urls, &unset, &[]).unwrap_err().to_string();
        assert!(error.contains("MGP_TEST_NO_SUCH_VARIABLE"), "{error}");
        // A variable that every process has stands for a key.
        let set = ["prod=PATH".parse().unwrap()];
        let found = instances(&urls, &set, &[]).unwrap();
        assert_eq!((found[0].name.as_str(), found[0].url.as_str()), ("prod", "https://example.com/mcp"));
        let twice = [urls[0].clone(), urls[0].clone()];
        assert!(instances(&twice, &set, &[]).unwrap_err().to_string().contains("twice"));
        let others = ["prod=PATH".parse().unwrap(), "test=PATH".parse().unwrap()];
        assert!(instances(&urls, &others, &[]).unwrap_err().to_string().contains("no instance `test`"));
    }

    // covers: P-3-09
    #[test]
    fn the_key_is_shown_nowhere() {
        let key = ApiKey::new("KEY", "s3cret");
        let header = key.header().unwrap();
        let instance = Instance {
            name: "prod".parse().unwrap(),
            url: "https://example.com/".parse().unwrap(),
            key,
            authorities: None,
        };
        assert!(!format!("{instance:?} {header:?}").contains("s3cret"));
        let error = ApiKey::new("KEY", "s3cret\n").header().unwrap_err();
        assert!(!format!("{error:?}").contains("s3cret"));
    }

    #[test]
    fn a_name_ends_at_the_first_dot() {
        assert!("prod-2".parse::<InstanceName>().is_ok());
        for name in ["", "a.b", "a_b", "ä", &"x".repeat(33)] {
            assert!(name.parse::<InstanceName>().is_err(), "{name}");
        }
    }
}
