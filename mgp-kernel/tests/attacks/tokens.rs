//! Tokens that are forged, stolen, borrowed or replayed, at a kernel that accepts those of an identity provider.

use ::http::{Method, Uri};
use mgp_security::jose::{Algorithm, Header, SigningKey, dpop};
use serde_json::{Value, json};

use crate::home::Home;
use crate::http::{self, Answer};
use crate::identity_provider::{Endpoint, Fault, IdentityProvider};
use crate::kernel::{Kernel, hello, until};
use crate::runner::tests;
use crate::server;

tests![
    a_token_of_the_issuer_lets_its_agent_in_and_nobody_else,
    a_request_without_a_token_is_told_where_to_get_one,
    a_token_of_another_audience_or_issuer_is_refused,
    a_token_without_a_signature_or_signed_by_the_public_key_is_refused,
    keys_that_a_token_brings_itself_are_not_used,
    two_issuers_with_the_same_subject_are_two_agents,
    an_agent_that_is_known_in_another_way_has_no_tokens,
    a_session_of_another_principal_is_not_found,
    a_flood_of_unknown_keys_is_no_flood_of_questions_and_known_keys_stay,
    a_bound_token_is_worth_nothing_without_its_key,
    a_proof_that_was_made_beforehand_is_worth_nothing_where_nonces_are_demanded,
    a_tool_that_needs_a_scope_is_listed_to_tokens_that_have_it_and_tells_others_which,
    a_token_passes_the_doors_and_changes_nothing,
    a_claim_of_groups_gives_who_is_not_listed_what_the_group_has_and_nothing_else,
    tokens_are_in_no_record_and_no_log,
];

/// A kernel that accepts the tokens of an identity provider for its agents.
pub(crate) struct Protected {
    pub(crate) home: Home,
    kernel: Kernel,
    pub(crate) provider: IdentityProvider,
    pub(crate) port: u16,
    /// The audience of its tokens.
    resource: String,
}

const RESOURCE: &str = "https://mgp.example/mcp";

impl Protected {
    async fn start() -> Self {
        Self::with("").await
    }

    /// Starts it with more in the table `listen.oauth`.
    async fn with(oauth: &str) -> Self {
        Self::of(IdentityProvider::start().await, oauth, "")
    }

    /// Starts it with more in the table `listen.oauth`, and more in the file.
    pub(crate) fn of(provider: IdentityProvider, oauth: &str, more: &str) -> Self {
        Self::run_at(provider, 0, RESOURCE, oauth, more, "")
    }

    /// Starts it where its own address is the audience of its tokens.
    pub(crate) async fn at_own_address() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let resource = format!("http://127.0.0.1:{port}/mcp");
        Self::run_at(IdentityProvider::start().await, port, &resource, "", "", "")
    }

    fn run_at(
        provider: IdentityProvider,
        port: u16,
        resource: &str,
        oauth: &str,
        more: &str,
        of_server: &str,
    ) -> Self {
        let home = Home::with_state();
        let issuer = provider.issuer();
        let issuers = if oauth.contains("issuers") {
            String::new()
        } else {
            format!("issuers = [{{ issuer = {issuer:?} }}]\n")
        };
        let agent = |id: &str, subject: &str| {
            let tokens = format!("tokens = [{{ issuer = {issuer:?}, subject = {subject:?} }}]");
            format!("[[agents]]\nid = {id:?}\n{tokens}\n")
        };
        let text = format!(
            "[listen]\nrest = true\npublic_url = {resource:?}\n[listen.oauth]\n{oauth}\n{issuers}{}{}\
             [access]\ndefault = \"opt-out\"\n{more}",
            agent("agent.ada", "1"),
            agent("agent.bob", "2"),
        );
        let state = home.read("mgp.toml");
        home.write("mgp.toml", &format!("{state}{text}{}", server::configured(&home, "work", of_server)));
        let kernel = Kernel::start(&home, &["--http", &format!("127.0.0.1:{port}")]);
        let port = kernel.port();
        until("its server is listed", || {
            let servers = home.json(["servers", "--wait"]);
            servers["servers"].as_array().unwrap().iter().any(|row| row["id"] == "work" && row["tools"] != 0)
        });
        Self { home, kernel, provider, port, resource: resource.to_owned() }
    }

    fn claims(&self, subject: &str) -> Value {
        json!({ "iss": self.provider.issuer(), "sub": subject, "aud": self.resource, "scope": "mgp:use" })
    }

    pub(crate) fn token(&self, subject: &str) -> String {
        self.provider.issue(&self.claims(subject))
    }

    /// Posts a message with this `Authorization`, and further headers.
    fn post(&self, authorization: &str, headers: &str, message: &Value) -> Answer {
        let authorization = match authorization {
            "" => String::new(),
            value => format!("Authorization: {value}\r\n"),
        };
        http::post(self.port, &format!("{HOST}{authorization}{headers}"), &message.to_string())
    }

    /// Opens a session with a token.
    pub(crate) fn bearer(&self, token: &str) -> Answer {
        self.post(&format!("Bearer {token}"), "", &hello("t", &json!({})))
    }

    /// Sends a request with a token, in the revision without sessions.
    pub(crate) fn ask(&self, token: &str, method: &str, params: Value) -> Answer {
        let headers = format!("{HOST}Authorization: Bearer {token}\r\n");
        http::ask(self.port, &headers, &json!({}), method, params)
    }

    /// Calls a tool of its server.
    fn echo(&self, token: &str) -> Answer {
        self.ask(token, "tools/call", json!({"name": "work__echo", "arguments": {}}))
    }
}

/// The name by which it is asked.
const HOST: &str = "Host: mgp.example\r\n";

async fn a_token_of_the_issuer_lets_its_agent_in_and_nobody_else() {
    let kernel = Protected::start().await;
    for algorithm in [Algorithm::ES256, Algorithm::RS256, Algorithm::EdDSA] {
        let token = kernel.provider.issue_by(algorithm, &kernel.claims("1"));
        let answer = kernel.bearer(&token);
        assert_eq!(answer.status, 200, "{algorithm:?}: {} {}", answer.head, answer.body);
    }
    let stranger = kernel.bearer(&kernel.token("3"));
    assert_eq!(stranger.status, 403, "{}", stranger.head);
    // The subject of a token is nobody's name.
    let named = kernel.bearer(&kernel.token("agent.ada"));
    assert_eq!(named.status, 403, "{}", named.head);
    let answer = kernel.echo(&kernel.token("1"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let record = kernel.home.json(["audit", "tail"]).to_string();
    assert!(record.contains("agent.ada"), "{record}");
}

async fn a_request_without_a_token_is_told_where_to_get_one() {
    let kernel = Protected::with("scopes = [\"mgp:use\"]").await;
    let answer = kernel.post("", "", &hello("t", &json!({})));
    assert_eq!(answer.status, 401);
    let metadata = "resource_metadata=\"https://mgp.example/.well-known/oauth-protected-resource/mcp\"";
    assert!(answer.head.contains(metadata) && answer.head.contains("scope=\"mgp:use\""), "{}", answer.head);
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let document = http::send(kernel.port, "GET", path, HOST, "");
        assert_eq!(document.status, 200, "{path}");
        let document = document.json();
        assert_eq!(document["resource"], RESOURCE);
        assert_eq!(document["authorization_servers"], json!([kernel.provider.issuer()]));
    }
    let mut claims = kernel.claims("1");
    claims["scope"] = "other".into();
    let poor = kernel.bearer(&kernel.provider.issue(&claims));
    assert!(poor.status == 403 && poor.head.contains("insufficient_scope"), "{}", poor.head);
}

async fn a_token_passes_the_doors_and_changes_nothing() {
    let kernel = Protected::start().await;
    let token = kernel.token("1");
    let ask = |method: &str, path: &str, body: &str| {
        let headers = format!("{HOST}Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        http::send(kernel.port, method, path, &headers, body)
    };
    for path in ["/catalog", "/openapi.json", "/capabilities"] {
        let answer = ask("GET", path, "");
        assert!(answer.status == 200 && answer.body.contains("work.echo"), "{path}: {}", answer.body);
    }
    let called = ask("POST", "/tools/work.echo", "{}");
    assert_eq!(called.status, 200, "{}", called.body);
    let called = ask("POST", "/env/tools/call", r#"{"tool_name": "work.echo", "arguments": {}}"#);
    assert!(called.body.contains("success"), "{}", called.body);
    let refused = kernel.ask(&token, "mgp/access/grant", json!({}));
    assert!(refused.body.contains("--allow register"), "{}", refused.body);
}

async fn a_token_of_another_audience_or_issuer_is_refused() {
    let kernel = Protected::start().await;
    let other = IdentityProvider::start().await;
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let with = |name: &str, value: Value| {
        let mut claims = kernel.claims("1");
        claims[name] = value;
        kernel.provider.issue(&claims)
    };
    let theirs = json!({ "iss": other.issuer(), "sub": "1", "aud": RESOURCE });
    let in_our_name = json!({ "iss": kernel.provider.issuer(), "sub": "1", "aud": RESOURCE });
    for (why, token) in [
        ("another audience", with("aud", "https://other.example/mcp".into())),
        ("an audience that begins alike", with("aud", format!("{RESOURCE}/").into())),
        ("no audience", with("aud", json!([]))),
        ("an issuer that is not accepted", other.issue(&theirs)),
        ("signed by another issuer in the name of ours", other.issue(&in_our_name)),
        ("an issuer that is spelled otherwise", with("iss", format!("{}/", kernel.provider.issuer()).into())),
        ("over", with("exp", (now - 3600).into())),
        ("not begun", with("nbf", (now + 3600).into())),
        ("without a subject", with("sub", "".into())),
    ] {
        let answer = kernel.bearer(&token);
        assert_eq!(answer.status, 401, "{why}: {}", answer.head);
        assert!(answer.head.contains("invalid_token"), "{why}: {}", answer.head);
    }
    assert_eq!(kernel.bearer(&with("aud", json!(["https://other.example", RESOURCE]))).status, 200);
}

async fn a_token_without_a_signature_or_signed_by_the_public_key_is_refused() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let kernel = Protected::start().await;
    let text = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let mut claims = kernel.claims("1");
    claims["exp"] = 9_999_999_999_u64.into();
    let kid = kernel.provider.key_id(Algorithm::RS256);
    for alg in ["none", "None", "nOnE", "HS256", "HS512"] {
        let header = json!({ "alg": alg, "kid": kid, "typ": "JWT" });
        let signed = format!("{}.{}", text(&header), text(&claims));
        for signature in ["", "c2lnbmF0dXJl"] {
            let answer = kernel.bearer(&format!("{signed}.{signature}"));
            assert!(matches!(answer.status, 400 | 401), "{alg}: {}", answer.head);
        }
    }
    // A right signature whose algorithm is said to be another one.
    let right = kernel.token("1");
    let (_, rest) = right.split_once('.').unwrap();
    let confused = format!("{}.{rest}", text(&json!({ "alg": "RS256", "kid": kid })));
    assert_eq!(kernel.bearer(&confused).status, 401);
}

async fn keys_that_a_token_brings_itself_are_not_used() {
    let kernel = Protected::start().await;
    let own = SigningKey::generate().unwrap();
    let mut claims = kernel.claims("1");
    claims["exp"] = 9_999_999_999_u64.into();
    let other = IdentityProvider::start().await;
    let mut header = Header::new(Algorithm::ES256);
    header.jwk = Some(own.public_jwk().clone());
    header.jku = Some(format!("{}/jwks", other.issuer()));
    header.x5u = Some(format!("{}/x5u", other.issuer()));
    for kid in [None, Some("../../etc/passwd".to_owned()), Some(kernel.provider.key_id(Algorithm::ES256))] {
        header.kid = kid;
        let token = own.sign(header.clone(), &claims).unwrap();
        assert_eq!(kernel.bearer(&token).status, 401);
    }
    assert_eq!(other.count(Endpoint::Jwks), 0, "nobody follows an address that a token names");
    header.crit = Some(vec!["exp".into()]);
    assert_eq!(kernel.bearer(&own.sign(header, &claims).unwrap()).status, 401);
}

async fn two_issuers_with_the_same_subject_are_two_agents() {
    let (one, two) = (IdentityProvider::start().await, IdentityProvider::start().await);
    let issuers = format!("issuers = [{{ issuer = {:?} }}, {{ issuer = {:?} }}]", one.issuer(), two.issuer());
    let eve = format!(
        "[[agents]]\nid = \"agent.eve\"\ntokens = [{{ issuer = {:?}, subject = \"1\" }}]\n",
        two.issuer()
    );
    let kernel = Protected::of(one, &issuers, &eve);
    let theirs = two.issue(&json!({ "iss": two.issuer(), "sub": "1", "aud": RESOURCE }));
    assert_eq!(kernel.echo(&theirs).status, 200);
    let record = kernel.home.json(["audit", "tail"]).to_string();
    assert!(record.contains("agent.eve") && !record.contains("agent.ada"), "{record}");
}

async fn an_agent_that_is_known_in_another_way_has_no_tokens() {
    for name in ["local", "Local-HTTP", "operator", "human.ada", "mgp.kernel"] {
        let home = Home::with_state();
        let text = format!(
            "{}[listen]\npublic_url = {RESOURCE:?}\n[listen.oauth]\nissuers = [{{ issuer = \"https://id.example\" }}]\n\
             [[agents]]\nid = {name:?}\ntokens = [{{ issuer = \"https://id.example\", subject = \"1\" }}]\n",
            home.read("mgp.toml")
        );
        home.write("mgp.toml", &text);
        let ran = home.run(["serve", "--foreground", "--http", "127.0.0.1:0"]);
        assert!(ran.code == Some(1) && ran.err.contains("cannot come with tokens"), "{name}: {ran:?}");
    }
}

async fn a_session_of_another_principal_is_not_found() {
    let kernel = Protected::start().await;
    let (ada, bob) = (kernel.token("1"), kernel.token("2"));
    let opened = kernel.bearer(&ada);
    let session = opened.header("mcp-session-id").unwrap();
    let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(kernel.post(&format!("Bearer {bob}"), &headers, &ping).status, 404);
    // Another token of the same agent goes on with it.
    let renewed = kernel.token("1");
    assert_eq!(kernel.post(&format!("Bearer {renewed}"), &headers, &ping).status, 200);
}

async fn a_flood_of_unknown_keys_is_no_flood_of_questions_and_known_keys_stay() {
    let kernel = Protected::start().await;
    assert_eq!(kernel.bearer(&kernel.token("1")).status, 200);
    assert_eq!(kernel.provider.count(Endpoint::Jwks), 1);
    for _ in 0..3 {
        assert_eq!(kernel.bearer(&kernel.token("1")).status, 200);
    }
    assert_eq!(kernel.provider.count(Endpoint::Jwks), 1, "known keys are not fetched again");
    // A flood of tokens with unknown keys makes no flood of fetches.
    let stranger = SigningKey::generate().unwrap();
    for number in 0..20 {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(format!("unknown-{number}"));
        let token = stranger.sign(header, &kernel.claims("1")).unwrap();
        assert_eq!(kernel.bearer(&token).status, 401);
    }
    assert!(kernel.provider.count(Endpoint::Jwks) <= 2, "{}", kernel.provider.count(Endpoint::Jwks));
    // An issuer that cannot be reached leaves the known keys as they are.
    kernel.provider.fault(Fault::Slow(Endpoint::Jwks));
    assert_eq!(kernel.bearer(&kernel.token("1")).status, 200);
}

async fn a_bound_token_is_worth_nothing_without_its_key() {
    let kernel = Protected::start().await;
    let (key, thief) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let mut claims = kernel.claims("1");
    claims["cnf"] = json!({ "jkt": key.thumbprint() });
    let token = kernel.provider.issue(&claims);
    let url: Uri = RESOURCE.parse().unwrap();
    let proof = |key: &SigningKey, method: &Method, url: &Uri, token: &str| {
        dpop::proof(key, method, url, Some(token), None).unwrap()
    };
    let right = proof(&key, &Method::POST, &url, &token);
    let send = |scheme: &str, proof: &str| {
        let headers = if proof.is_empty() { String::new() } else { format!("DPoP: {proof}\r\n") };
        kernel.post(&format!("{scheme} {token}"), &headers, &hello("t", &json!({}))).status
    };
    assert_eq!(send("Bearer", ""), 401, "without a proof");
    assert_eq!(send("DPoP", ""), 401, "without a proof");
    assert_eq!(send("Bearer", &right), 401, "by the scheme of tokens that are not bound");
    assert_eq!(send("DPoP", &proof(&thief, &Method::POST, &url, &token)), 401, "by another key");
    assert_eq!(send("DPoP", &proof(&key, &Method::GET, &url, &token)), 401, "for another method");
    let other: Uri = "https://other.example/mcp".parse().unwrap();
    assert_eq!(send("DPoP", &proof(&key, &Method::POST, &other, &token)), 401, "for another server");
    assert_eq!(send("DPoP", &proof(&key, &Method::POST, &url, "other")), 401, "for another token");
    assert_eq!(send("DPoP", &right), 200);
    assert_eq!(send("DPoP", &right), 401, "a second time");
    // A token that is not bound gains nothing by a proof.
    let plain = kernel.token("1");
    let headers = format!("DPoP: {}\r\n", proof(&key, &Method::POST, &url, &plain));
    assert_eq!(kernel.post(&format!("DPoP {plain}"), &headers, &hello("t", &json!({}))).status, 401);
}

async fn a_proof_that_was_made_beforehand_is_worth_nothing_where_nonces_are_demanded() {
    let kernel = Protected::with("dpop = \"required\"").await;
    let key = SigningKey::generate().unwrap();
    let mut claims = kernel.claims("1");
    claims["cnf"] = json!({ "jkt": key.thumbprint() });
    let token = kernel.provider.issue(&claims);
    let url: Uri = RESOURCE.parse().unwrap();
    let send = |nonce: Option<&str>| {
        let proof = dpop::proof(&key, &Method::POST, &url, Some(&token), nonce).unwrap();
        kernel.post(&format!("DPoP {token}"), &format!("DPoP: {proof}\r\n"), &hello("t", &json!({})))
    };
    let response = send(None);
    assert!(
        response.status == 401 && response.head.contains("error=\"use_dpop_nonce\""),
        "{}",
        response.head
    );
    let nonce = response.header("dpop-nonce").unwrap();
    assert_eq!(send(Some(nonce)).status, 200);
    assert_eq!(send(Some(&nonce[1..])).status, 401, "a nonce that is not of the kernel");
    let plain = kernel.bearer(&kernel.token("1"));
    assert!(plain.status == 401 && plain.head.contains("www-authenticate: dpop "), "{}", plain.head);
}

async fn a_tool_that_needs_a_scope_is_listed_to_tokens_that_have_it_and_tells_others_which() {
    let needs = "[servers.tools.echo]\nrequired_scopes = [\"work:write\"]\n";
    let kernel = Protected::run_at(IdentityProvider::start().await, 0, RESOURCE, "", "", needs);
    let token = |scope: &str| {
        let mut claims = kernel.claims("1");
        claims["scope"] = scope.into();
        kernel.provider.issue(&claims)
    };
    let listed = |scope: &str| {
        let answer = kernel.ask(&token(scope), "tools/list", json!({}));
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains("\"cacheScope\":\"private\""), "{}", answer.body);
        answer.body.contains("work__echo")
    };
    for _ in 0..2 {
        assert!(!listed("mgp:use"));
        assert!(listed("mgp:use work:write"));
    }
    let poor = kernel.echo(&token("mgp:use"));
    assert_eq!(poor.status, 403, "{} {}", poor.head, poor.body);
    assert!(poor.head.contains("insufficient_scope"), "{}", poor.head);
    assert!(poor.head.contains("scope=\"mgp:use work:write\""), "{}", poor.head);
    assert_eq!(kernel.echo(&token("mgp:use work:write")).status, 200);
}

async fn tokens_are_in_no_record_and_no_log() {
    let kernel = Protected::start().await;
    let token = kernel.token("1");
    assert_eq!(kernel.echo(&token).status, 200);
    let forged = format!("{token}x");
    assert_eq!(kernel.bearer(&forged).status, 401);
    let seen = format!(
        "{}{}{:?}",
        kernel.home.json(["audit", "tail"]),
        kernel.home.read("stderr"),
        server::requests(&kernel.home, "work"),
    );
    let signature = token.rsplit('.').next().unwrap();
    assert!(!seen.contains(signature) && !seen.contains("Bearer"), "{seen}");
}

async fn a_claim_of_groups_gives_who_is_not_listed_what_the_group_has_and_nothing_else() {
    let provider = IdentityProvider::start().await;
    let issuers = format!("issuers = [{{ issuer = {:?}, agents = \"any\" }}]", provider.issuer());
    // A rule for the tool comes before the one for the server, by which nobody may use it.
    let rules = "[[access.rules]]\nagent = \"@everybody\"\nserver = \"work\"\npermission = \"deny\"\n\
        [[access.rules]]\nagent = \"@payments\"\nserver = \"work\"\ntool = \"echo\"\npermission = \"allow\"\n\
        [[groups]]\nname = \"everybody\"\nagents = [\"*\"]\n\
        [[groups]]\nname = \"payments\"\nagents = [\"*-admin\"]\nclaim = \"realm_access.roles\"\nvalues = [\"pay\"]\n";
    let kernel = Protected::of(provider, &issuers, rules);
    let called = |subject: &str, roles: Value| {
        let mut claims = kernel.claims(subject);
        claims["realm_access"] = json!({ "roles": roles });
        let answer = kernel.echo(&kernel.provider.issue(&claims));
        assert!(answer.status < 500, "{} {}", answer.head, answer.body);
        let result = &answer.json()["result"];
        result.is_object() && result["isError"] != true
    };
    assert!(called("7", json!(["x", "pay"])));
    for roles in [
        json!([]),
        json!("payments"),
        json!({ "pay": true }),
        json!(7),
        json!(["Pay", "pay\u{0}", "p\u{430}y", "@payments", ["pay"], null]),
        json!(vec!["others"; 300]),
    ] {
        assert!(!called("7", roles.clone()), "{roles}");
        assert!(called("7", json!("pay")), "a newer token says so again");
    }
    for subject in ["@payments", "operator:root", "agent.ada", "local", "7-admin", "../7"] {
        assert!(!called(subject, json!([])), "{subject}");
    }
    assert!(called("7", json!("pay")));
    let record = kernel.home.json(["audit", "tail"]).to_string();
    assert!(record.contains(r#""access_group":"@payments""#), "{record}");
    let members = kernel.home.json(["access", "groups"]).to_string();
    assert!(members.contains("/7\"") && members.contains("the claim `realm_access.roles`"), "{members}");
}
