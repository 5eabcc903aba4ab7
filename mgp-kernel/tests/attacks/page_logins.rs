//! Logins at the page by the identity provider: who gets in, as what, and whose answer counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::certificate::self_signed;
use crate::home::Home;
use crate::http::Answer;
use crate::identity_provider::{Consent, Endpoint, Fault, IdentityProvider, KnownClient, Proof};
use crate::kernel::{Kernel, Talk};
use crate::logins::location;
use crate::questions::question;
use crate::runner::tests;
use crate::server;

tests![
    an_operators_claim_signs_in_and_decides_without_a_passphrase,
    an_auditors_claim_sees_and_does_not_decide_and_a_stranger_is_told_why,
    an_answer_counts_once_and_in_the_browser_that_asked,
    an_answer_of_another_issuer_or_a_refusal_signs_nobody_in,
    no_other_page_begins_a_login_and_none_leads_elsewhere,
    a_provider_that_does_not_work_is_told_of,
    a_login_is_over_when_its_group_has_no_rights_any_more,
];

/// A page that is served by HTTPS, before which people sign in at a provider.
struct Page {
    home: Home,
    provider: IdentityProvider,
    port: u16,
    tls: TlsConnector,
    talk: Talk,
    _kernel: Kernel,
}

impl Page {
    async fn start() -> Self {
        let provider = IdentityProvider::start().await;
        let home = Home::with_state();
        let (listen_tls, certificate) = self_signed(&home);
        let settings = format!(
            "[ui]\nlisten = \"0.0.0.0:0\"\n[ui.oauth]\nclient_id = \"page\"\nclient_secret = \"page-secret\"\n\
             operators = [\"@admins\"]\nauditors = [\"@office\"]\n\
             [listen]\npublic_url = \"https://mgp.example/mcp\"\n{listen_tls}\
             [listen.oauth]\nscopes = [\"mgp:use\"]\nissuers = [{{ issuer = {:?} }}]\n\
             [[groups]]\nname = \"admins\"\nclaim = \"groups\"\n[[groups]]\nname = \"office\"\nclaim = \"groups\"\n\
             [access]\ndefault = \"opt-out\"\n[[agents]]\nid = \"local\"\nhuman = false\n",
            provider.issuer()
        );
        server::configure(&home, &settings, &[("files", "")]);
        let (kernel, talk) = Talk::begin(&home);
        let opened = home.json(["ui", "--no-browser"]);
        let port = opened["address"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        let mut client = KnownClient::new(Proof::Basic("page-secret".into()));
        client.redirect_uris.push(format!("https://localhost:{port}/login/callback"));
        provider.add_client("page", client);
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { home, provider, port, tls: Arc::new(tls).into(), talk, _kernel: kernel }
    }

    fn browser(&self) -> Browser<'_> {
        Browser { page: self, cookies: BTreeMap::new() }
    }

    /// Has an agent ask for what a person has to decide, and returns the id of the question.
    fn asked(&mut self) -> String {
        let call = json!({"name": "files.delete_everything", "arguments": {"what": "x"}});
        self.talk.tell("tools/call", &call);
        question(&self.home)["id"].as_str().unwrap().to_owned()
    }

    fn decision(&self) -> Value {
        self.home.json(["permissions", "pending"])["questions"][0]["decision"].clone()
    }

    /// Returns the name of a person at the provider.
    fn name(&self, person: &str) -> String {
        format!("oauth/{}/{person}", self.provider.issuer().replace(':', "%3A").replace('/', "%2F"))
    }
}

/// A browser with the cookies that the page gave it.
struct Browser<'p> {
    page: &'p Page,
    cookies: BTreeMap<String, String>,
}

/// The headers of a request to which a page of the same origin leads.
const OWN: &str = "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\n";
/// The headers of a request to which a page of another site leads.
const FROM_ELSEWHERE: &str = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";

/// The cookie of a login that was begun.
const BEGUN: &str = "__Host-mgp-login";

impl Browser<'_> {
    async fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let port = self.page.port;
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let mut stream = self.page.tls.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\nContent-Length: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nCookie: {}\r\n{headers}\r\n{body}",
            body.len(),
            cookies.join("; "),
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The connection may end without a word of TLS about it.
        let _ = stream.read_to_end(&mut answer).await;
        let answer = Answer::read(str::from_utf8(&answer).unwrap());
        if let Some((name, value)) = answer.header("set-cookie").and_then(|set| set.split_once('=')) {
            self.cookies.insert(name.to_owned(), value.split(';').next().unwrap().to_owned());
        }
        answer
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, OWN, "").await
    }

    async fn post(&mut self, path: &str, form: &str) -> Answer {
        self.ask("POST", path, OWN, form).await
    }

    /// Goes to the provider as a person with these groups, and returns the path to which the provider leads back.
    async fn at_provider(&mut self, person: &str, groups: &[&str]) -> String {
        self.page.provider.set(|settings| {
            settings.consent = Consent::Of(person.into());
            settings.claims = json!({ "groups": groups });
        });
        let begun = self.get("/login/provider?_to=%2Fservers").await;
        assert_eq!(begun.status, 303, "{}", begun.body);
        assert!(begun.raw.contains("SameSite=Lax; Secure; Max-Age=600"), "{}", begun.raw);
        self.back(&begun)
    }

    fn back(&self, begun: &Answer) -> String {
        let back = location(begun.header("location").unwrap());
        let origin = format!("https://localhost:{}", self.page.port);
        back.strip_prefix(&origin).unwrap_or_else(|| panic!("{back}")).to_owned()
    }

    async fn come_back(&mut self, path: &str) -> Answer {
        self.ask("GET", path, FROM_ELSEWHERE, "").await
    }

    async fn sign_in(&mut self, person: &str, groups: &[&str]) -> Answer {
        let back = self.at_provider(person, groups).await;
        self.come_back(&back).await
    }
}

async fn an_operators_claim_signs_in_and_decides_without_a_passphrase() {
    let mut page = Page::start().await;
    let id = page.asked();
    let mut browser = page.browser();
    let shown = browser.get("/login").await.body;
    assert!(shown.contains("Sign in with http://127.0.0.1"), "{shown}");
    // Who is in both groups is an operator.
    let signed_in = browser.sign_in("1", &["office", "admins"]).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    assert!(signed_in.body.contains("content=\"0; url=/servers\""), "{}", signed_in.body);
    let cookie = signed_in.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-mgp-page=") && cookie.ends_with("SameSite=Strict; Secure"),
        "{cookie}"
    );
    let servers = browser.get("/servers").await;
    assert!(servers.status == 200 && servers.body.contains(&page.name("1")), "{}", servers.body);
    assert!(!servers.body.contains(", auditor"), "{}", servers.body);
    let approved = browser.post("/do/permissions/approve", &format!("id={id}&_back=%2F")).await;
    assert_eq!((approved.status, approved.header("location")), (303, Some("/")), "{}", approved.body);
    let record = page.home.json(["audit", "tail"]).to_string();
    assert!(record.contains("dev.cloto.mgp.page_login") && record.contains(&page.name("1")), "{record}");
    assert_eq!(page.provider.grants("authorization_code"), 1);
    assert_eq!(browser.post("/sign-out", "").await.status, 303);
    assert_eq!(browser.get("/servers").await.status, 303);
}

async fn an_auditors_claim_sees_and_does_not_decide_and_a_stranger_is_told_why() {
    let mut page = Page::start().await;
    let id = page.asked();
    let mut browser = page.browser();
    assert_eq!(browser.sign_in("2", &["office"]).await.status, 200);
    let question = browser.get(&format!("/questions/{id}")).await;
    assert!(question.status == 200 && question.body.contains(", auditor"), "{}", question.body);
    for what in ["permissions/approve", "permissions/deny", "server/stop"] {
        let refused = browser.post(&format!("/do/{what}"), &format!("id={id}&server_id=files")).await;
        assert_eq!(refused.status, 403, "{what}: {}", refused.body);
    }
    assert!(page.decision().is_null());
    for groups in [&[][..], &["admins2", "@admins", "Admins"]] {
        let mut stranger = page.browser();
        let refused = stranger.sign_in("3", groups).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let why = format!("{} is in no group that this page is for", page.name("3"));
        assert!(refused.body.contains(&why), "{}", refused.body);
        assert!(!stranger.cookies.contains_key("__Host-mgp-page"));
        assert_eq!(stranger.get("/servers").await.status, 303);
    }
}

async fn an_answer_counts_once_and_in_the_browser_that_asked() {
    let page = Page::start().await;
    let (mut own, mut other) = (page.browser(), page.browser());
    let back = own.at_provider("1", &["admins"]).await;
    // Another browser has begun no login, or one of its own.
    let refused = other.come_back(&back).await;
    assert!(refused.status == 403 && refused.body.contains("began no login"), "{}", refused.body);
    other.at_provider("2", &["admins"]).await;
    for (browser, path) in [(&mut other, back.clone()), (&mut own, back.replace("state=", "state=x"))] {
        let refused = browser.come_back(&path).await;
        assert!(refused.status == 403 && refused.body.contains("another login"), "{}", refused.body);
    }
    for kept in ["", ".", ".%2F", "x"] {
        other.cookies.insert(BEGUN.to_owned(), kept.to_owned());
        assert_eq!(other.come_back(&back).await.status, 403, "{kept}");
    }
    let fetched = own.ask("GET", &back, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n", "").await;
    assert_eq!(fetched.status, 401, "{}", fetched.body);
    assert_eq!(own.ask("POST", &back, FROM_ELSEWHERE, "").await.status, 403);
    assert_eq!(page.provider.grants("authorization_code"), 0);
    // None of that ended the login, nor does a flood of others.
    for _ in 0..20 {
        assert_eq!(page.browser().get("/login/provider").await.status, 303);
    }
    assert_eq!(own.come_back(&back).await.status, 200);
    assert_eq!(own.come_back(&back).await.status, 403, "a code counts once");
}

async fn an_answer_of_another_issuer_or_a_refusal_signs_nobody_in() {
    let page = Page::start().await;
    for (fault, why) in [
        (Some(Fault::WrongIss("https://evil.example".into())), "does not come from the issuer"),
        (Some(Fault::NoIss), "does not come from the issuer"),
        (None, "access_denied"),
    ] {
        let mut browser = page.browser();
        fault.iter().cloned().for_each(|fault| page.provider.fault(fault));
        page.provider.set(|settings| {
            settings.consent = if fault.is_some() { Consent::Of("1".into()) } else { Consent::Denied };
        });
        let begun = browser.get("/login/provider").await;
        let back = browser.back(&begun);
        let refused = browser.come_back(&back).await;
        assert!(refused.status == 403 && refused.body.contains(why), "{fault:?}: {}", refused.body);
        assert!(!refused.body.contains("evil"), "{}", refused.body);
        page.provider.heal();
    }
    assert_eq!(page.provider.grants("authorization_code"), 0, "no code was sent");
}

async fn no_other_page_begins_a_login_and_none_leads_elsewhere() {
    let page = Page::start().await;
    let mut browser = page.browser();
    for headers in [FROM_ELSEWHERE, "Sec-Fetch-Site: same-site\r\n"] {
        assert_eq!(browser.ask("GET", "/login/provider", headers, "").await.status, 403, "{headers}");
    }
    assert_eq!(page.provider.count(Endpoint::Metadata), 0, "nobody was asked");
    page.provider.set(|settings| {
        settings.consent = Consent::Of("1".into());
        settings.claims = json!({ "groups": "admins" });
    });
    for to in ["%2F%2Fevil.example", "https%3A%2F%2Fevil.example", "%2F%5Cevil.example", "%2Fx%0d%0aevil%3A1"]
    {
        let begun = browser.get(&format!("/login/provider?_to={to}")).await;
        let back = browser.back(&begun);
        let signed_in = browser.come_back(&back).await;
        assert!(signed_in.body.contains("content=\"0; url=/\""), "{to}: {}", signed_in.body);
        assert!(!signed_in.raw.contains("evil") && !signed_in.body.contains("evil"), "{}", signed_in.raw);
        assert_eq!(signed_in.header("referrer-policy"), Some("same-origin"));
    }
}

async fn a_provider_that_does_not_work_is_told_of() {
    let page = Page::start().await;
    let mut browser = page.browser();
    for (fault, why) in [
        (Fault::Failing(Endpoint::Metadata, 500), "cannot be had now"),
        (Fault::WrongIssuer("https://evil.example".into()), "another issuer"),
        (Fault::NoPkce, "PKCE"),
    ] {
        page.provider.fault(fault);
        let told = browser.get("/login/provider").await;
        assert!(told.status == 403 && told.body.contains(why), "{}", told.body);
        page.provider.heal();
    }
    let back = browser.at_provider("1", &["admins"]).await;
    page.provider.fault(Fault::Failing(Endpoint::Token, 500));
    let told = browser.come_back(&back).await;
    assert!(told.status == 403 && told.body.contains("HTTP 500"), "{}", told.body);
}

async fn a_login_is_over_when_its_group_has_no_rights_any_more() {
    let page = Page::start().await;
    let mut browser = page.browser();
    assert_eq!(browser.sign_in("1", &["admins"]).await.status, 200);
    assert_eq!(browser.get("/servers").await.status, 200);
    let config = page.home.read("mgp.toml");
    let admins = "name = \"admins\"\nclaim = \"groups\"\n";
    assert!(config.contains(admins), "{config}");
    page.home.write("mgp.toml", &config.replace(admins, &format!("{admins}values = [\"others\"]\n")));
    page.home.done(["reload"]);
    assert_eq!(browser.get("/servers").await.status, 303);
    // Another login of the same person is one of a stranger.
    assert_eq!(browser.sign_in("1", &["admins"]).await.status, 403);
}
