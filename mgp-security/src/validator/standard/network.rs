//! The validator `network_restricted`.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::{Permission, ValidatorName};

use crate::Finding;
use crate::network::{
    NetworkPolicy, check_addresses, check_host, check_nested, check_text, check_url, is_network_scheme,
};
use crate::path::ROOT_FOLDERS;
use crate::percent::percent_decoded;
use crate::tool::{ArgumentNature, words};
use crate::validator::call::{BlockedCall, CallArgument, ValidatedCall, Validator};

/// The validator `network_restricted`: no argument may lead to this machine, its network, or the metadata service of a
/// cloud.
#[derive(Clone, Default)]
#[must_use]
pub struct NetworkValidator {
    policy: NetworkPolicy,
    owns: Option<Arc<IsOwn>>,
    /// True if `data:` URLs, which contain their page themselves, pass.
    pages_in_urls: bool,
}

/// A function that returns whether a scheme is the server's own.
type IsOwn = dyn Fn(&str) -> bool + Send + Sync;

impl NetworkValidator {
    /// Creates a validator that applies `policy`.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self { policy, owns: None, pages_in_urls: false }
    }

    mgp_types::setters! { self =>
        /// Allows URIs with schemes of the server's own, which `owns` recognizes: the server lists resources under them,
        /// and no other program can follow them. Schemes that name a host or a file never count as such.
        pub fn with_own_schemes(owns: impl Fn(&str) -> bool + Send + Sync + 'static) =>
            self.owns = Some(Arc::new(owns));

        /// Allows `data:` URLs, which browsers show without any request, if no address in them is refused. Base64-encoded
        /// content passes only if it is no page, because an encoded page is not inspected.
        pub fn with_pages_in_urls() => self.pages_in_urls = true;
    }

    /// Checks a URL that `call` visits. Files and pages in the URL pass where the tool says that it takes them, and the
    /// check of paths decides about files.
    fn check_visited(&self, text: &str, call: &ValidatedCall<'_>) -> Result<(), Finding> {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        if scheme.eq_ignore_ascii_case("file") && needs_files(call) && is_local_file(text) {
            return Ok(());
        }
        if (self.pages_in_urls || call.natures.takes("data"))
            && let Some(checked) = check_data(text, &self.policy)
        {
            return checked;
        }
        let explained = |it: Finding| if it.rule == "scheme" { refused_scheme(scheme, call) } else { it };
        self.check_url(text).map_err(explained)
    }

    fn check_url(&self, text: &str) -> Result<(), Finding> {
        if text.eq_ignore_ascii_case(EMPTY_PAGE) {
            return Ok(());
        }
        if is_place_at_server(text) {
            return check_text(text, &self.policy);
        }
        if let Some(whole) = completed(text) {
            return check_url(&whole, &self.policy);
        }
        match text.split_once(':').filter(|(scheme, _)| self.is_own(scheme)) {
            Some((_, rest)) => check_text(rest.trim_start_matches('/'), &self.policy),
            None => check_url(text, &self.policy),
        }
    }

    fn is_own(&self, scheme: &str) -> bool {
        let leads_out =
            is_network_scheme(scheme) || FILE_SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(scheme));
        !leads_out && self.owns.as_ref().is_some_and(|owns| owns(scheme))
    }
}

impl Validator for NetworkValidator {
    fn name(&self) -> &ValidatorName {
        &ValidatorName::NetworkRestricted
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        for argument in &call.arguments {
            argument.check(|text| match argument.nature {
                ArgumentNature::Url | ArgumentNature::Host if text.is_empty() => Ok(()),
                ArgumentNature::Url => self.check_visited(text, call),
                ArgumentNature::Host => check_host(text, &self.policy),
                // Text for people is not fetched by any program, and may mention localhost.
                ArgumentNature::Text => Ok(()),
                _ => check_text(text, &self.policy),
            })?;
        }
        Ok(())
    }
}

mgp_types::partial_debug!(NetworkValidator, self => policy: self.policy);

/// The validator of what no tool is told, whatever it does with it: an address of this machine, of its network, or of a
/// cloud's metadata service, as a whole argument. It is not part of the specification; its name is
/// [`AddressesValidator::NAME`].
#[derive(Debug, Clone)]
pub struct AddressesValidator {
    name: ValidatorName,
    policy: NetworkPolicy,
}

impl AddressesValidator {
    /// The name of the validator in configurations.
    pub const NAME: &'static str = "dev.cloto.addresses";

    /// Creates a validator that applies `policy`.
    pub fn new(policy: NetworkPolicy) -> Self {
        Self { name: ValidatorName::read(Self::NAME), policy }
    }
}

impl Validator for AddressesValidator {
    fn name(&self) -> &ValidatorName {
        &self.name
    }

    fn check(&self, call: &ValidatedCall<'_>) -> Result<(), BlockedCall> {
        for argument in &call.arguments {
            // A command is read as a whole by its own validator.
            if argument.nature == ArgumentNature::Command {
                continue;
            }
            let is_searched = || words(&argument.name).last().is_some_and(|last| SEARCHED.contains(&&**last));
            // What is searched for may be the address of a machine without being one to go to.
            argument.check(|text| match check_addresses(text, &self.policy) {
                Err(finding) if !text.contains("://") && finding.rule != METADATA && is_searched() => Ok(()),
                judged => judged.map(drop),
            })?;
        }
        Ok(())
    }

    fn asks_about(&self, call: &ValidatedCall<'_>) -> bool {
        let mut urls =
            call.arguments.iter().flat_map(CallArgument::readings).filter(|text| text.contains("://"));
        urls.any(|text| check_addresses(text, &self.policy) == Ok(true))
    }
}

/// The last words of the names of arguments that are searched for.
const SEARCHED: &[&str] = &["pattern", "query", "search", "filter", "regex", "keyword", "keywords", "term"];

/// The rule that refuses the metadata services of clouds.
const METADATA: &str = "metadata-endpoint";

/// Returns whether the tool needs the permission to read files, which a person grants before the call goes on.
fn needs_files(call: &ValidatedCall<'_>) -> bool {
    call.tool.security.permissions.contains(&Permission::FilesystemRead)
}

/// Returns whether a `file:` URL names a file of this machine, rather than one at a host.
fn is_local_file(url: &str) -> bool {
    let Some(behind) = url.get(5..) else { return false };
    match behind.strip_prefix("//") {
        Some(rest) => {
            let host = rest.split(['/', '\\']).next().unwrap_or_default();
            (host.is_empty() && !rest.starts_with("//")) || host.eq_ignore_ascii_case("localhost")
        }
        None => behind.starts_with('/'),
    }
}

/// Returns the finding that a URL has a scheme that is closed to the tool, with the key that opens it.
fn refused_scheme(scheme: &str, call: &ValidatedCall<'_>) -> Finding {
    let (server, tool) = (&call.tool.server, &call.tool.name);
    let key = match scheme.to_ascii_lowercase().as_str() {
        "file" if needs_files(call) => "name a file of this machine as `file:///PATH`".to_owned(),
        "file" => format!(
            "`permissions = [\"filesystem.read\"]` under `[servers.security]` of `{server}` opens it to files in the \
             open folders"
        ),
        "data" => format!("`preset = \"browser\"` under `[servers.network]` of `{server}` opens it"),
        _ => format!(
            "use https, or the tool that is made for it; `spared_validators = [\"network_restricted\"]` under \
             `[servers.security]` of `{server}` ends this check"
        ),
    };
    let scheme: String = scheme.chars().take(MAX_SCHEME).collect();
    Finding::new("scheme", format!("URLs of the scheme `{scheme}:` are closed to the tool `{tool}`: {key}"))
}

/// Returns whether a text is the path of an address whose host the server knows, such as `/api/search`.
fn is_place_at_server(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('/').filter(|inner| !inner.starts_with('/')) else { return false };
    let first = inner.split(['/', '?', '#']).next().unwrap_or_default();
    let is_file = ROOT_FOLDERS.iter().any(|folder| folder.eq_ignore_ascii_case(first));
    let leads_elsewhere = text.contains(['\\', '%']) || text.split('/').any(|part| part.starts_with('.'));
    !is_file
        && !leads_elsewhere
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Returns the complete URL for an address that people write without a scheme: `example.com/docs`, `localhost:3000`,
/// `//example.com`.
fn completed(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("//") {
        return Some(format!("https://{rest}"));
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) =
        authority.rsplit_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let is_host = is_plain && (host.contains('.') || port.is_some() && !host.is_empty());
    (is_host && port.is_none_or(is_port)).then(|| format!("https://{text}"))
}

/// Checks a `data:` URL; `None` for any other text.
fn check_data(text: &str, policy: &NetworkPolicy) -> Option<Result<(), Finding>> {
    let (scheme, rest) = text.split_once(':')?;
    let (header, content) = rest.split_once(',').filter(|_| scheme.eq_ignore_ascii_case("data"))?;
    let mut parts = header.split(';');
    let media_type = parts.next().unwrap_or_default();
    if parts.any(|part| part.trim().eq_ignore_ascii_case("base64")) {
        let media_type = media_type.to_ascii_lowercase();
        // A browser would show content of these types as a page, whose programs and links it follows.
        let is_page = PAGES.iter().any(|page| media_type.contains(page));
        let encoded = "the page in the URL is encoded: write it as plain text";
        return Some(if is_page { Err(Finding::new("encoded-page", encoded)) } else { Ok(()) });
    }
    // A browser decodes the content once. The addresses of metadata services are found in every layer of encoding.
    let page = percent_decoded(content).map_or(Cow::Borrowed(content), Cow::Owned);
    Some(check_text(&page, policy).and_then(|()| check_nested(&page)))
}

/// The URL that browsers use for an empty page.
const EMPTY_PAGE: &str = "about:blank";

/// The schemes that programs read without a host.
const FILE_SCHEMES: [&str; 5] = ["file", "data", "javascript", "jar", "blob"];

/// Parts of the media types of pages and of containers of pages.
const PAGES: [&str; 6] = ["html", "/xml", "+xml", "script", "multipart/", "message/"];

/// The largest number of characters of a scheme that a message shows.
const MAX_SCHEME: usize = 32;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::{ResolvedTool, TrustLevel};
    use mgp_types::{Object, RawJson};

    use super::*;
    use crate::doubles::cases;
    use crate::path::{CallFolders, PathAccess};
    use crate::text;
    use crate::tool::{ArgumentNatures, ToolRules, effective};

    fn tool(definition: &str) -> Arc<ResolvedTool> {
        let definition = Object::parse(definition.to_owned()).unwrap();
        let security = effective(&definition, &ToolRules::new(TrustLevel::Standard));
        let name = definition.text("name").unwrap().into_owned();
        ResolvedTool::new("web".into(), name.as_str().into(), definition, security)
    }

    /// Returns the rows of the table with this key.
    fn urls(wanted: &str) -> impl Iterator<Item = String> {
        cases(include_str!("urls.txt")).filter(move |(key, _)| *key == wanted).map(|(_, url)| url)
    }

    fn visits(network: &NetworkValidator, tool: &ResolvedTool, url: &str) -> Result<(), BlockedCall> {
        judged(network, tool, "url", RawJson::from_text(url))
    }

    fn judged(
        validator: &impl Validator,
        tool: &ResolvedTool,
        member: &'static str,
        value: RawJson,
    ) -> Result<(), BlockedCall> {
        let natures = ArgumentNatures::of(&tool.definition);
        let mut arguments = Object::new();
        arguments.set(member, value);
        let arguments = text::read(&arguments.to_raw()).unwrap();
        let (access, folders) = (PathAccess::Read, CallFolders::default());
        let call = ValidatedCall::read(tool, &natures, access, folders, &arguments);
        validator.check(&call.map_err(BlockedCall::Argument)?)
    }

    #[test]
    fn an_address_is_judged_in_any_argument_of_any_tool() {
        let addresses = AddressesValidator::new(NetworkPolicy::default());
        let tools = ["http_post", "save_page", "add_feed", "set_avatar", "create_webhook", "note"].map(|name| {
            tool(&format!(
                r#"{{"name":"{name}","description":"Posts.","inputSchema":{{"properties":{{"url":{{"type":"string"}},"body":{{"type":"string"}}}}}}}}"#
            ))
        });
        for tool in &tools {
            for inward in urls("inward") {
                for member in ["url", "body", "x", "target", "text"] {
                    let one = judged(&addresses, tool, member, RawJson::from_text(&inward));
                    assert!(one.is_err(), "{} {member} {inward}", tool.name);
                }
                let list = RawJson::from_value(&["https://example.com/", &inward]).unwrap();
                assert!(judged(&addresses, tool, "anything", list).is_err(), "{} [{inward}]", tool.name);
            }
            for asked in urls("asked") {
                assert!(is_asked(&addresses, tool, &asked), "{} {asked}", tool.name);
            }
            for fine in urls("fine") {
                for member in ["url", "body", "x", "query"] {
                    let one = judged(&addresses, tool, member, RawJson::from_text(&fine));
                    assert!(one.is_ok(), "{} {member} {fine}: {}", tool.name, message(&one.unwrap_err()));
                }
            }
        }
    }

    /// Returns whether a call passes, and a person is asked about it.
    fn is_asked(addresses: &AddressesValidator, tool: &ResolvedTool, url: &str) -> bool {
        let natures = ArgumentNatures::of(&tool.definition);
        let arguments = serde_json::json!({"url": url});
        let (access, folders) = (PathAccess::Read, CallFolders::default());
        let call = ValidatedCall::read(tool, &natures, access, folders, &arguments).unwrap();
        addresses.check(&call).is_ok() && addresses.asks_about(&call)
    }

    fn message(blocked: &BlockedCall) -> String {
        match blocked {
            BlockedCall::Argument(located) => located.finding.message.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tool_takes_files_and_content_in_a_url_if_its_definition_says_so() {
        let says = r#"{"name":"convert","description":"Converts a resource described by an http:, https:, file: or data: URI",
            "inputSchema":{"properties":{"url":{"type":"string"}}}}"#;
        let silent = r#"{"name":"convert","description":"Converts a page.",
            "inputSchema":{"properties":{"url":{"type":"string"}}}}"#;
        let network = NetworkValidator::default();
        for url in urls("content") {
            assert!(visits(&network, &tool(says), &url).is_ok(), "{url}");
            let refused = message(&visits(&network, &tool(silent), &url).unwrap_err());
            let scheme = url.split_once(':').unwrap().0;
            let key = if scheme == "file" { "filesystem.read" } else { "preset = " };
            for part in
                [format!("`{scheme}:`"), "`convert`".to_owned(), key.to_owned(), "of `web`".to_owned()]
            {
                assert!(refused.contains(&part), "{url}: {refused}");
            }
        }
        for url in urls("no content") {
            assert!(visits(&network, &tool(says), &url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_scheme_is_the_servers_own_if_it_lists_resources_under_it_and_nobody_else_can_follow_it() {
        let network = NetworkValidator::default()
            .with_own_schemes(|scheme| ["memory", "file", "gopher"].contains(&scheme));
        assert!(network.check_url("memory://insights").is_ok());
        for url in
            ["other://insights", "file:///x", "gopher://example.com/", "memory://http://169.254.169.254/"]
        {
            assert!(network.check_url(url).is_err(), "{url}");
        }
        assert!(NetworkValidator::default().check_url("memory://insights").is_err());
    }

    #[test]
    fn a_browser_may_show_pages_that_stand_in_the_url_and_lead_nowhere_that_is_refused() {
        let browser = NetworkValidator::new(NetworkPolicy::default().allow_loopback()).with_pages_in_urls();
        let tool = tool(r#"{"name":"open","inputSchema":{"properties":{"url":{"type":"string"}}}}"#);
        for url in urls("page") {
            assert!(visits(&browser, &tool, &url).is_ok(), "{url}");
        }
        for url in urls("no page") {
            assert!(visits(&browser, &tool, &url).is_err(), "{url}");
        }
        assert!(visits(&NetworkValidator::default(), &tool, "data:,x").is_err());
    }

    #[test]
    fn addresses_are_judged_as_people_write_them() {
        let network = NetworkValidator::default();
        for url in urls("address") {
            assert!(network.check_url(&url).is_ok(), "{url}");
        }
        for url in urls("no address") {
            assert!(network.check_url(&url).is_err(), "{url}");
        }
    }
}
