//! Logins at a protected server: whose token the kernel comes with, and who gets to see it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::home::Home;
use crate::http;
use crate::identity_provider::{Consent, Endpoint, KnownClient, Proof};
use crate::kernel::{found, until};
use crate::runner::tests;
use crate::tokens::Protected;

tests![
    a_person_signs_in_once_and_signs_out_again,
    a_person_signs_in_from_the_page_of_the_kernel,
    a_person_signs_in_on_another_device,
    a_login_that_is_denied_or_answered_by_somebody_else_is_none,
    each_agent_comes_with_its_own_login,
    no_client_starts_a_login,
    a_token_is_exchanged_for_one_of_the_server_and_never_sent_there,
    a_token_of_the_platform_is_read_for_each_token_of_the_server,
];

/// A kernel in front of a protected server.
fn in_front_of(server: &Protected, more: &str) -> Home {
    let home = Home::with_state();
    let entry =
        format!("[[servers]]\nid = \"inner\"\nurl = \"http://127.0.0.1:{}/mcp\"\n{more}\n", server.port);
    home.configure(&entry);
    home
}

/// Runs `mgp login`, and follows the page that it prints as a browser does; returns its exit code and what it wrote. The
/// answer of the issuer can be changed on its way.
fn login(home: &Home, args: &[&str], change: impl Fn(String) -> String) -> (i32, String) {
    let mut command = home.command(["login", "inner", "--no-browser"].iter().chain(args));
    let mut program =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = String::new();
    for line in BufReader::new(program.stderr.take().unwrap()).lines().map(Result::unwrap) {
        if let Some((_, page)) = line.split_once("sign in at: ") {
            location(&change(location(page)));
        }
        output = format!("{output}{line}\n");
    }
    (program.wait().unwrap().code().unwrap(), output)
}

/// Returns where a page leads.
pub(crate) fn location(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let port = host.rsplit_once(':').unwrap().1.parse().unwrap();
    let answer = http::send(port, "GET", &format!("/{path}"), &format!("Host: {host}\r\n"), "");
    answer.header("location").unwrap_or_default().to_owned()
}

/// Returns the kernel's rows of its servers, once they are connected or have failed.
fn servers(home: &Home) -> String {
    home.run(["servers", "--wait", "--json"]).out
}

async fn a_person_signs_in_once_and_signs_out_again() {
    let server = Protected::at_own_address().await;
    server.provider.set(|settings| settings.consent = Consent::Of("1".into()));
    let home = in_front_of(&server, "");
    let output = servers(&home);
    assert!(output.contains("run `mgp login inner`"), "{output}");

    let (code, output) = login(&home, &[], |answer| answer);
    assert_eq!(code, 0, "{output}");
    let listed = home.run(["tools"]).out;
    let echo = listed.split_whitespace().find(|word| word.starts_with("inner.work_echo")).unwrap();
    let call = || home.run(["call", echo, "--json"]);
    for _ in 0..2 {
        let after = call();
        assert_eq!(after.code, Some(0), "{after:?}");
    }
    assert_eq!(server.provider.grants("authorization_code"), 1, "nobody signs in twice");
    let listed = home.run(["secrets", "list"]);
    assert!(!listed.out.contains("mgp-login"), "{}", listed.out);

    // A login is given up without a proof, and a kernel that runs gives it up at once.
    let mut logout = home.command(["logout", "inner"]);
    logout.env_remove("MGP_OPERATORS_TOKEN");
    assert_eq!(Home::ran(logout, "").code, Some(0));
    let after = call();
    assert!(after.code != Some(0) && after.err.contains("run `mgp login inner`"), "{after:?}");
    assert_eq!(home.run(["logout", "inner"]).code, Some(1));
}

async fn a_person_signs_in_from_the_page_of_the_kernel() {
    let server = Protected::at_own_address().await;
    server.provider.set(|settings| settings.consent = Consent::Of("1".into()));
    let home = in_front_of(&server, "");
    assert_eq!(home.run_with(["operators", "passphrase", "--stdin"], "correct horse\n").code, Some(0));
    let opened = home.json(["ui", "--no-browser"]);
    let port = opened["address"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    let form = "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let code = format!("code={}", opened["code"].as_str().unwrap());
    let answer = http::send(port, "POST", "/login", form, &code);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    let headers = format!("{form}Cookie: {cookie}\r\n");
    let asked = "server_id=inner&_passphrase=correct+horse";
    let page = http::send(port, "POST", "/do/server/login", &headers, asked).body;
    let (_, link) = page.split_once("href=\"http://").unwrap_or_else(|| panic!("{page}"));
    let link = format!("http://{}", link.split('"').next().unwrap().replace("&amp;", "&"));
    location(&location(&link));
    until("the server is connected", || servers(&home).contains("\"connected\""));
    assert_eq!(server.provider.grants("authorization_code"), 1);
}

async fn a_person_signs_in_on_another_device() {
    let server = Protected::at_own_address().await;
    let home = in_front_of(&server, "");
    let mut command = home.command(["login", "inner", "--device"]);
    let mut program =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines().map(Result::unwrap);
    let prompt = lines.next().unwrap();
    let (_, code) = prompt.split_once("type the code ").unwrap();
    server.provider.approve(code, "1");
    assert!(program.wait().unwrap().success());
    until("the server is connected", || servers(&home).contains("\"connected\""));
}

async fn a_login_that_is_denied_or_answered_by_somebody_else_is_none() {
    let server = Protected::at_own_address().await;
    server.provider.set(|settings| settings.consent = Consent::Denied);
    let home = in_front_of(&server, "");
    let (code, output) = login(&home, &[], |answer| answer);
    assert!(code == 3 && output.contains("access_denied"), "{code} {output}");
    server.provider.set(|settings| settings.consent = Consent::Of("1".into()));
    let (code, output) = login(&home, &[], |answer| format!("{answer}&iss=http%3A%2F%2Fevil.example"));
    assert!(code == 3 && output.contains("does not come from the issuer"), "{code} {output}");
    assert_eq!(server.provider.grants("authorization_code"), 0, "no code was sent");
}

async fn each_agent_comes_with_its_own_login() {
    let server = Protected::at_own_address().await;
    let home = in_front_of(&server, "sharing = \"agent\"");
    let (code, output) = login(&home, &[], |answer| answer);
    assert!(code == 1 && output.contains("--agent"), "{code} {output}");
    for (agent, subject) in [("ada", "1"), ("bob", "2")] {
        server.provider.set(|settings| settings.consent = Consent::Of(subject.into()));
        let (code, output) = login(&home, &["--agent", agent], |answer| answer);
        assert_eq!(code, 0, "{output}");
    }
    let stored = home.read(".config/mgp/secrets.toml");
    assert_eq!(stored.matches("mgp-login.").count(), 2, "each agent has a login of its own");
}

async fn no_client_starts_a_login() {
    let server = Protected::at_own_address().await;
    let home = in_front_of(&server, "[servers.oauth]\nscopes = [\"mgp:use\"]");
    assert_ne!(home.run(["call", "inner.work_echo", "--json"]).code, Some(0));
    let output = servers(&home);
    assert!(output.contains("run `mgp login inner`"), "{output}");
    for endpoint in [Endpoint::Authorize, Endpoint::Register, Endpoint::Token, Endpoint::Device] {
        assert_eq!(server.provider.count(endpoint), 0, "{endpoint:?}");
    }
}

async fn a_token_is_exchanged_for_one_of_the_server_and_never_sent_there() {
    let inner = Protected::at_own_address().await;
    let issuer = inner.provider.issuer();
    inner.provider.add_client("gate", KnownClient::new(Proof::Basic("gate-secret".into())));
    let entry = format!(
        "[[servers]]\nid = \"inner\"\nurl = \"http://127.0.0.1:{}/mcp\"\nsharing = \"agent\"\n[servers.oauth]\n\
         grant = \"token_exchange\"\nissuer = {issuer:?}\nclient_id = \"gate\"\nclient_secret = \"gate-secret\"\n",
        inner.port
    );
    let outer = Protected::of(inner.provider.clone(), "", &entry);
    for (subject, agent) in [("1", "agent.ada"), ("2", "agent.bob")] {
        let token = outer.token(subject);
        // The token is one for the outer kernel alone.
        assert_eq!(inner.bearer(&token).status, 401);
        // The agent's connection is opened when it first asks.
        let echo = found("the tool is listed", || {
            let listed = outer.ask(&token, "tools/list", json!({})).body;
            listed.split('"').find(|text| text.starts_with("inner__work_echo")).map(str::to_owned)
        });
        let answer = outer.ask(&token, "tools/call", json!({"name": echo, "arguments": {}}));
        assert!(
            answer.status == 200 && answer.body.contains("\"content\""),
            "{} {}",
            answer.head,
            answer.body
        );
        let record = inner.home.json(["audit", "tail"]).to_string();
        assert!(record.contains(agent), "{agent}: {record}");
    }
    assert_eq!(inner.provider.grants("urn:ietf:params:oauth:grant-type:token-exchange"), 2);
    assert!(!outer.home.path(".config/mgp/secrets.toml").exists(), "exchanged tokens are in memory alone");
}

async fn a_token_of_the_platform_is_read_for_each_token_of_the_server() {
    let server = Protected::at_own_address().await;
    let issuer = server.provider.issuer();
    server.provider.add_client("gate", KnownClient::new(Proof::None));
    let home = in_front_of(
        &server,
        &format!(
            "[servers.oauth]\ngrant = \"workload_identity\"\nissuer = {issuer:?}\nclient_id = \"gate\"\n\
             token_file = \"platform-token\""
        ),
    );
    let output = servers(&home);
    assert!(output.contains("`token_file`"), "{output}");
    let claims = json!({ "iss": issuer, "sub": "1", "aud": issuer });
    home.write("platform-token", &format!("{}\n", server.provider.issue(&claims)));
    // It is tried again by itself as well, only later.
    home.run(["restart", "inner"]);
    let listed = home.run(["tools"]).out;
    assert!(listed.contains("inner.work_echo"), "{listed}");
    assert_eq!(server.provider.grants("urn:ietf:params:oauth:grant-type:jwt-bearer"), 1);
}
