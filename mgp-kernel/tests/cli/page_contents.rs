//! Tests of single pages: of their contents, their forms and their links.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::home::Home;
use crate::kernel::Kernel;
use crate::page::{Browser, asked, call, with_passphrase};
use crate::people::home_with_notes;

#[test]
fn a_key_is_issued_shown_once_and_revoked_where_it_stands() {
    let (home, _kernel, _) = asked();
    with_passphrase(&home);
    let browser = Browser::signed_in(&home);
    let option = r#"value="[&quot;ToolsListAll&quot;,{&quot;ToolInvoke&quot;:&quot;*&quot;}]""#;
    assert!(browser.get("/kernel").body.contains(option));
    let allowed = "%5B%22ToolsListAll%22%2C%7B%22ToolInvoke%22%3A%22*%22%7D%5D";
    let form = format!("owner=agent.x&label=of+ada&permissions%3Ajson={allowed}&_show=1&_back=%2Fkernel");
    let issued = browser.post("/do/keys/new", &format!("{form}&_passphrase=correct+horse"));
    assert!(issued.status == 200 && issued.body.contains("Shown only this once"), "{}", issued.body);
    let key = &home.json(["keys", "list"])["keys"][0];
    assert_eq!((&key["owner"], &key["label"]), (&"agent.x".into(), &"of ada".into()));
    let kernel = browser.get("/kernel").body;
    let id = key["id"].as_str().unwrap();
    assert!(kernel.contains(&format!("name=\"id\" value=\"{id}\"")) && kernel.contains("call:*"), "{kernel}");
    assert_eq!(browser.post("/do/keys/revoke", &format!("id={id}&_back=%2Fkernel")).status, 303);
    assert!(browser.get("/kernel").body.contains("There are no keys."));
}

#[test]
fn access_is_shown_as_the_policy_decides_for_servers_and_for_tools() {
    let (home, _kernel, _) = asked();
    home.done(["access", "grant", "agent.x", "notes"]);
    home.done(["access", "deny", "agent.x", "notes", "remove_note"]);
    let browser = Browser::signed_in(&home);
    let cell = "href=\"/access?agent_id=agent%2Ex&amp;server_id=notes\"";
    let all = browser.get("/access").body;
    assert!(
        all.contains(cell) && all.contains("agent_id=local\"") && all.contains("rules for tools: 1"),
        "{all}"
    );
    let one = browser.get("/access?agent_id=agent.x&server_id=notes").body;
    let of = |beginning: &str| {
        let row = one.split("<tr>").find(|row| row.contains("<th scope=\"row\">") && row.contains(beginning));
        row.unwrap_or_else(|| panic!("{one}"))
    };
    let (whole, removes, adds) = (of(">notes<"), of(">notes.remove_note<"), of(">notes.add_note<"));
    assert!(whole.contains("allowed") && whole.contains("by server grant"), "{whole}");
    assert!(removes.contains("refused") && removes.contains("by tool grant"), "{removes}");
    assert!(
        adds.contains("allowed") && adds.contains("by server grant") && !adds.contains("rules"),
        "{adds}"
    );
    let none = browser.get("/access?agent_id=agent.nobody&server_id=notes").body;
    assert!(none.contains("by default policy") && none.contains("There are no rules."), "{none}");
}

#[test]
fn a_chain_of_requests_is_drawn_and_what_fits_a_filter_is_downloaded() {
    let (home, _kernel, _) = asked();
    let events = home.json(["audit", "query", "--server", "notes"]);
    let mut rows = events["events"].as_array().unwrap().iter().map(|row| &row["event"]);
    let call = rows.find(|event| event["actor"]["type"] == "agent").unwrap_or_else(|| panic!("{events}"));
    let trace = call["trace_id"].as_str().unwrap();
    let of_chain = home.json(["audit", "query", "--trace", trace])["events"].as_array().unwrap().len();
    let browser = Browser::signed_in(&home);
    let chain = browser.get(&format!("/record?trace_id={trace}")).body;
    assert_eq!(chain.matches("class=\"part\"").count(), of_chain, "{chain}");
    assert_eq!(chain.matches("href=\"#event-").count(), chain.matches("id=\"event-").count());
    assert!(!browser.get("/record").body.contains("class=\"part\""));
    let file = browser.get(&format!("/record/export?trace_id={trace}&behind:json=1"));
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"record.jsonl\""));
    let lines: Vec<_> = file.body.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(lines.len(), of_chain, "{}", file.body);
    assert!(lines.iter().all(|line| line.contains(trace)), "{lines:?}");
    assert!(!file.body.contains("unfinished"));
    assert_eq!(browser.get("/record/export?trace_id=none").status, 400);
}

#[test]
fn the_calls_of_an_agent_are_counted_and_lead_to_their_events() {
    let (home, _kernel, _) = asked();
    assert_eq!(call(&home).code, Some(6));
    let browser = Browser::signed_in(&home);
    let kernel = browser.get("/kernel").body;
    let link = kernel.split("href=\"").skip(1).find(|link| link.contains("&amp;since="));
    let (link, rest) = link.unwrap_or_else(|| panic!("{kernel}")).split_once('"').unwrap();
    let events = browser.get(&link.replace("&amp;", "&")).body;
    let counted: usize = rest[1..].split('<').next().unwrap().parse().unwrap();
    assert_eq!(events.matches("id=\"event-").count(), counted, "{kernel}");
    assert!(counted > 0);
}

#[test]
fn all_definitions_that_wait_are_approved_at_once() {
    let tools = r#"[{"name":"read_page","description":"Reads a page.","inputSchema":{"type":"object"}},
        {"name":"list_pages","description":"Lists the pages.","inputSchema":{"type":"object"}}]"#;
    let script = crate::shell_servers::shell_server(tools, "result='{\"content\":[]}'");
    let home = Home::with_script("web", &script, "[validators]\nfirst_use = \"approve\"", "");
    home.let_person_decide();
    let (_kernel, _) = Kernel::on_http(&home);
    crate::kernel::until("the definitions are held", || {
        home.run(["tools"]);
        home.run(["pin", "list", "--waiting"]).out.contains("read_page")
    });
    with_passphrase(&home);
    let browser = Browser::signed_in(&home);
    let waiting = browser.get("/definitions?waiting:json=true").body;
    let each = waiting.split("type=\"hidden\" name=\"_each\" value=\"").skip(1);
    let each: Vec<_> = each.map(|one| one.split('"').next().unwrap().replace("&amp;", "&")).collect();
    assert!(waiting.contains(&format!("Approve all that wait here: {}", each.len())), "{waiting}");
    let mut form = url::form_urlencoded::Serializer::new("_passphrase=correct+horse".to_owned());
    let form = form.extend_pairs(each.iter().map(|one| ("_each", one))).finish();
    assert_eq!(browser.post("/do/pins/approve", &form).status, 303);
    let waiting = browser.get("/definitions?waiting:json=true").body;
    assert!(
        waiting.contains("No definition is held or flagged.") && !waiting.contains("Approve all"),
        "{waiting}"
    );
}

#[test]
fn servers_of_a_pasted_configuration_are_added_and_their_secrets_show_nowhere() {
    let (home, _kernel, _) = asked();
    with_passphrase(&home);
    let browser = Browser::signed_in(&home);
    let [command, script] = home.clock();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let entry = json!({"command": command, "args": [script], "env": {"CLOCK_TOKEN": secret}});
    let pasted = json!({"mcpServers": {"clock": entry}}).to_string();
    let form = format!("pasted={}&_back=%2Fservers", utf8_percent_encode(&pasted, NON_ALPHANUMERIC));
    let unproved = browser.post("/do/servers/add", &form);
    assert!(unproved.body.contains("passphrase"), "{}", unproved.body);
    assert!(!home.read("mgp.toml").contains("clock"));
    let added = browser.post("/do/servers/add", &format!("{form}&_passphrase=correct+horse"));
    assert_eq!((added.status, added.header("location")), (303, Some("/servers")), "{}", added.body);
    let config = home.read("mgp.toml");
    assert!(config.contains("${secret:CLOCK_CLOCK_TOKEN}") && !config.contains(secret), "{config}");
    crate::kernel::until("the tool is there", || home.run(["tools"]).out.contains("clock.unix_time"));
    let mut call = home.command(["call", "clock.unix_time"]);
    call.env_remove("MGP_OPERATORS_TOKEN");
    let ran = Home::ran(call, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = browser.get("/servers/clock").body;
    for part in
        ["CLOCK_TOKEN", "<dt>Confined</dt><dd>no</dd>", "/record?server_id=clock&amp;since=", "half within"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for path in ["/servers", "/servers/clock", "/kernel", "/record"] {
        assert!(!browser.get(path).body.contains(secret), "{path}");
    }
    let recorded = home.done(["audit", "query", "--server", "clock"]).out;
    assert!(recorded.contains("server_added") && !recorded.contains(secret), "{recorded}");
    let again = browser.post("/do/servers/add", &form);
    assert!(again.status == 400 && again.body.contains("`clock` already"), "{}", again.body);
    let hostile =
        browser.post("/do/servers/add", "pasted=%7B%22mcpServers%22%3A%7B%22%3Cimg%3E%22%3A1%7D%7D");
    assert!(hostile.status == 400 && hostile.body.contains("&lt;img&gt;"), "{}", hostile.body);
}

#[test]
fn a_server_that_is_switched_off_says_what_switches_it_on() {
    let home = home_with_notes("[[servers]]\nid = \"off\"\ncommand = \"x\"\nenabled = false\n");
    let (_kernel, _) = Kernel::on_http(&home);
    let shown = Browser::signed_in(&home).get("/servers/off");
    assert!(shown.status == 400 && shown.body.contains("`enabled = true`"), "{}", shown.body);
}

#[test]
fn a_server_is_found_by_its_name_and_added_as_it_was_shown() {
    let (home, _kernel, _) = asked();
    let units = json!({"name": "X-Units", "value": "metric"});
    let remote =
        json!({"type": "streamable-http", "url": "https://weather.example/metric", "headers": [units]});
    let name = "io.github.someone/weather";
    let document = json!({"name": name, "version": "1.2.3", "description": "<b>", "remotes": [remote]});
    home.write("mirror/weather.json", &document.to_string());
    home.configure(&format!("[downloads]\nregistry = {:?}\n", home.path("mirror").display().to_string()));
    home.done(["reload"]);
    with_passphrase(&home);
    let browser = Browser::signed_in(&home);
    let shown = browser.get("/servers?name=weather").body;
    assert!(
        shown.contains("/do/servers/install") && shown.contains("https://weather.example/metric"),
        "{shown}"
    );
    assert!(shown.contains("&lt;b&gt;"), "{shown}");
    assert!(browser.get("/servers?name=nothing").body.contains("No server of the registry has this name"));
    let form = "name=weather&server_id=forecasts&_back=%2Fservers&_passphrase=correct+horse";
    let other = browser.post("/do/servers/install", &format!("{form}&command=npx+-y+weather"));
    assert!(other.status == 400 && other.body.contains("says something else"), "{}", other.body);
    let command = utf8_percent_encode("https://weather.example/metric", NON_ALPHANUMERIC);
    let unseen = browser.post("/do/servers/install", &format!("{form}&command={command}"));
    assert!(unseen.status == 400 && unseen.body.contains("says something else"), "{}", unseen.body);
    let added =
        browser.post("/do/servers/install", &format!("{form}&command={command}&variables=X-Units%3Dmetric"));
    assert_eq!((added.status, added.header("location")), (303, Some("/servers")), "{}", added.body);
    let config = home.read("mgp.toml");
    assert!(
        config.contains("id = \"forecasts\"") && config.contains("io.github.someone/weather@1.2.3"),
        "{config}"
    );
}
