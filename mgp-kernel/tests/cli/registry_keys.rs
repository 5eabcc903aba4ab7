//! Keys of the tool registry's clients: in the header or in the message itself, with limits and permissions.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, until};
use crate::shell_servers::shell_server;

/// The two tools of a server that notes each line that it reads.
const TOOLS: &str = r#"[{"name":"read","description":"Reads.","inputSchema":{"type":"object"}},{"name":"write","description":"Writes.","inputSchema":{"type":"object"}}]"#;

/// A home whose kernel wants a key of everybody, and takes it from messages if `listen` says so.
fn home(listen: &str) -> Home {
    let call = r#"result='{"content":[{"type":"text","text":"done"}]}'"#;
    let settings = format!(
        "[listen]\nrequire_keys = true\n{listen}\n[access]\ndefault = \"opt-out\"\n\
         [confirmation]\ndangerous = false\n[tools]\nlevel = \"L0\"\n"
    );
    Home::with_script("notes", &shell_server(TOOLS, call), &settings, "")
}

/// Issues a key, and returns it.
fn key(home: &Home, owner: &str, options: &[&str]) -> String {
    let issued = home.json(["keys", "new", owner].into_iter().chain(options.iter().copied()));
    issued["secret"].as_str().unwrap().to_owned()
}

/// Sends a message, and returns the status, the head and the message of the answer.
fn post(port: u16, headers: &str, message: &Value) -> (u16, String, Value) {
    let answer = http::post(port, headers, &message.to_string());
    let json = answer.json();
    (answer.status, answer.head, json)
}

fn bearer(token: &str) -> Value {
    json!({"type": "bearer", "token": token})
}

/// A client of the registry whose messages have a key.
struct Client {
    port: u16,
    auth: Value,
    session: String,
}

impl Client {
    /// Opens a session, as a client that speaks MGP too.
    fn open(port: u16, key: &str) -> Self {
        let mut client = Self { port, auth: bearer(key), session: String::new() };
        let hello = json!({
            "protocolVersion": "2025-11-25", "clientInfo": {"name": "t", "version": "1"},
            "capabilities": {
                "mgp": {"version": "0.2.0", "extensions": ["discovery"]},
                "extensions": {"io.github.mcp-extension-proposals/ggen": {}},
            },
        });
        let (status, head, answer) = client.send("initialize", &hello);
        assert_eq!((status, &answer["result"]["serverInfo"]["name"]), (200, &json!("mgp")), "{answer}");
        let offered =
            &answer["result"]["capabilities"]["extensions"]["io.github.mcp-extension-proposals/ggen"];
        assert_eq!(offered, &json!({"auth_member": true}), "{answer}");
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        client.session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        client
    }

    fn send(&self, method: &str, params: &Value) -> (u16, String, Value) {
        let message =
            json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params, "auth": self.auth});
        post(self.port, &self.session, &message)
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        self.send(method, params).2
    }

    fn call(&self, tool: &str) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": {}}))
    }

    /// Returns the names of the tools that are listed, once the server is there.
    fn names(&self) -> Vec<String> {
        let list = self.ask("tools/list", &json!({}));
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
        let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// Waits until the server's tools are there, as somebody who may see all.
fn until_listed(home: &Home, port: u16) {
    let all = Client::open(port, &key(home, "agent.all", &["--allow", "list", "--allow", "call:*"]));
    until("the tools are listed", || all.names().contains(&"notes.write".to_owned()));
}

/// All that is written in a folder and in those below it.
fn written(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => bytes.extend(written(&entry.path())),
            kind if kind.is_file() => bytes.extend(std::fs::read(entry.path()).unwrap()),
            _ => {}
        }
    }
    bytes
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

// covers: GGEN-7-01..03
#[test]
fn a_key_is_stored_as_its_hash_with_all_that_it_permits_and_its_last_use() {
    let home = home("");
    let limits = ["--per-minute", "40", "--per-hour", "900", "--label", "the lab"];
    let options = [&["--allow", "list", "--allow", "call:notes.read"][..], &limits].concat();
    let (one, other) = (key(&home, "agent.one", &options), key(&home, "agent.two", &[]));
    // Beside its id, which lists show, a key has 256 random bits.
    let (id, secret) = one.strip_prefix("mgp_").unwrap().split_once('_').unwrap();
    assert_eq!(secret.len(), 43);
    assert_ne!(secret, &other[21..]);

    let find = || {
        let list = home.json(["keys", "list", "--owner", "agent.one"]);
        list["keys"][0].clone()
    };
    let stored = find();
    assert_eq!((&stored["id"], &stored["last_used"]), (&json!(id), &Value::Null), "{stored}");
    assert_eq!(stored["rate_limit"], json!({"requests_per_minute": 40, "requests_per_hour": 900}));
    assert_eq!(stored["permissions"].as_array().unwrap().len(), 2, "{stored}");
    assert!(stored["created_at"].as_str().unwrap().starts_with("20"), "{stored}");

    let (mut kernel, port) = Kernel::on_http(&home);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let used = post(port, &format!("Authorization: Bearer {one}\r\n"), &list).0;
    assert_ne!(used, 401);
    let first = find()["last_used"].clone();
    assert!(first.as_str() >= stored["created_at"].as_str(), "{first}");
    until("a later use is noted", || {
        post(port, &format!("Authorization: Bearer {one}\r\n"), &list);
        find()["last_used"] != first
    });
    let noted = find();
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));

    // All of that outlives the kernel, and the key itself is nowhere.
    assert_eq!(find(), noted);
    let kept = written(&home.path("state"));
    for key in [&one, &other] {
        assert!(!holds(&kept, &key.as_bytes()[21..]));
        assert!(holds(&kept, &Sha256::digest(key.as_bytes())), "the hash of the key is stored");
    }
    // It is shown once, and gone when it is revoked.
    assert!(!home.run(["keys", "list", "--json"]).out.contains(secret));
    home.done(["keys", "revoke", id]);
    assert_eq!(home.json(["keys", "list", "--owner", "agent.one"])["keys"], json!([]));
    assert_eq!(home.run(["keys", "revoke", id]).code, Some(1));
}

// covers: GGEN-7-11, GGEN-7-13, GGEN-7-14, GGEN-5-09, GGEN-8.5-03
#[test]
fn a_key_in_a_message_is_checked_like_one_in_a_header_and_seen_by_nobody_else() {
    let home = home("auth_member = true");
    let good = key(&home, "agent.one", &["--allow", "list", "--allow", "call:*"]);
    let (kernel, port) = Kernel::on_http(&home);
    until_listed(&home, port);
    let wrong = format!("{}{}", &good[..21], "A".repeat(43));
    let message = |auth: Value| {
        let mut message = json!({"jsonrpc": "2.0", "id": "mine", "method": "tools/list", "params": {}});
        if !auth.is_null() {
            message["auth"] = auth;
        }
        message
    };
    for auth in [
        Value::Null,
        json!({}),
        json!(good),
        json!({"token": good}),
        json!({"type": "basic", "token": good}),
        json!({"type": "Bearer ", "token": good}),
        json!({"type": "bearer"}),
        json!({"type": "bearer", "token": ""}),
        json!({"type": "bearer", "token": 7}),
        json!({"type": "bearer", "token": format!("{good}\r\nX-Other: 1")}),
        bearer("sk-1234567890abcdef"),
        bearer(&wrong),
        bearer(&format!("{good} ")),
    ] {
        let (status, head, answer) = post(port, "", &message(auth.clone()));
        let error = &answer["error"];
        assert_eq!(
            (status, &error["code"], &answer["id"]),
            (401, &json!(-32004), &json!("mine")),
            "{auth}: {answer}"
        );
        assert_eq!(error["data"]["error_type"], "AuthenticationError", "{answer}");
        assert!(error["message"].as_str().unwrap().contains("auth") && head.contains("application/json"));
        assert!(!answer.to_string().contains(&good[21..]), "{answer}");
    }
    // Twice the same member is no message at all.
    let twice = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","auth":{0},"auth":{0}}}"#, bearer(&good));
    assert_eq!(http::post(port, "", &twice).status, 401);
    assert_eq!(http::post(port, "", &format!("[{}]", message(bearer(&good)))).status, 401);

    let client = Client::open(port, &good);
    assert_eq!(client.names(), ["notes.read", "notes.write"]);
    assert_eq!(client.call("notes.read")["result"]["content"][0]["text"], "done");
    // A header decides alone.
    let header = format!("{}Authorization: Bearer {good}\r\n", client.session);
    assert_eq!(post(port, &header, &message(bearer(&wrong))).0, 200);
    let header = format!("{}Authorization: Bearer {wrong}\r\n", client.session);
    assert_eq!(post(port, &header, &message(bearer(&good))).0, 401);

    let seen = home.read("notes.sh.heard");
    assert!(seen.contains(r#""method":"tools/call""#));
    let logged = home.read("stderr");
    for bytes in [seen.as_bytes(), logged.as_bytes(), &written(&home.path("state"))] {
        assert!(!holds(bytes, &good.as_bytes()[21..]) && !holds(bytes, br#""bearer""#));
    }
    drop(kernel);

    // Where the configuration does not say so, a message has no key.
    let home = self::home("");
    let good = key(&home, "agent.one", &["--allow", "list"]);
    let (_kernel, port) = Kernel::on_http(&home);
    let (status, _, answer) = post(port, "", &message(bearer(&good)));
    assert_eq!((status, answer), (401, Value::Null));
}

// covers: GGEN-7-04, GGEN-7-05, GGEN-7-15
#[test]
fn each_rate_of_a_key_refuses_alone_and_says_when_to_come_back() {
    let home = home("auth_member = true");
    let (_kernel, port) = Kernel::on_http(&home);
    let ask = |key: &str| {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}, "auth": bearer(key)});
        post(port, "", &ping)
    };
    let refused_by = |options: &[&str], most: usize| {
        let key = key(&home, "agent.one", options);
        let mut passed = 0;
        loop {
            let (status, head, answer) = ask(&key);
            if status == 429 {
                let wait: u64 = head
                    .lines()
                    .find_map(|line| line.strip_prefix("retry-after: "))
                    .unwrap()
                    .parse()
                    .unwrap();
                let error = &answer["error"];
                assert_eq!(
                    (&error["code"], &error["data"]["error_type"]),
                    (&json!(3000), &json!("RateLimited"))
                );
                assert_eq!(error["data"]["retry_after_seconds"], wait, "{answer}");
                break (key, passed, wait);
            }
            assert_ne!(status, 401, "{answer}");
            passed += 1;
            assert!(passed <= most, "nothing is refused");
        }
    };
    // Of two, the one that is used up decides.
    let (_, passed, wait) = refused_by(&["--per-hour", "3"], 3);
    assert!(passed == 3 && (1100..=1200).contains(&wait), "{passed} {wait}");
    let (_, passed, wait) = refused_by(&["--per-minute", "3", "--per-hour", "1000"], 4);
    assert!(passed >= 3 && (1..=20).contains(&wait), "{passed} {wait}");
    let (_, passed, wait) = refused_by(&["--per-minute", "1000", "--per-hour", "3"], 3);
    assert!(passed == 3 && (1100..=1200).contains(&wait), "{passed} {wait}");
    let (key, passed, wait) = refused_by(&["--per-minute", "60"], 1000);
    assert!(passed >= 60 && wait == 1, "{passed} {wait}");
    // The window moves on with the time.
    until("the key is let through again", || ask(&key).0 != 429);
    // A key that is no key uses up nothing of another one.
    let limited = self::key(&home, "agent.two", &["--per-hour", "1"]);
    let guessed = format!("{}{}", &limited[..21], "A".repeat(43));
    for _ in 0..5 {
        assert_eq!(ask(&guessed).0, 401);
    }
    assert!(![401, 429].contains(&ask(&limited).0));
    assert_eq!(ask(&limited).0, 429);
}

// covers: GGEN-7-06..10, GGEN-7-12, GGEN-5-10
#[test]
fn each_permission_of_a_key_opens_its_own_and_nothing_else() {
    let home = home("auth_member = true");
    let python = "\n[registration]\nagents = [\"agent.registers\"]\ncommands = [\"python3\"]\n";
    home.configure(python);
    home.write("adds.py", ADDS);
    let (_kernel, port) = Kernel::on_http(&home);
    until_listed(&home, port);
    let client = |owner: &str, allowed: &[&str]| {
        let options: Vec<_> = allowed.iter().flat_map(|what| ["--allow", *what]).collect();
        Client::open(port, &key(&home, owner, &options))
    };
    let is_refused = |answer: &Value| {
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["error_type"]),
            (&json!(-32005), &json!("AuthorizationError")),
            "{answer}"
        );
    };
    let register = json!({
        "id": "adds", "command": "python3", "args": [home.path("adds.py")], "transport": "stdio",
        "mgp": {"extensions": [], "permissions_required": [], "trust_level": "sandboxed"},
        "created_by": "somebody", "justification": "to add",
    });
    let all = ["notes.read", "notes.write"];
    // The permission, what it lets call, what it lets see, and whether it reads and changes registrations.
    for (owner, permission, calls, sees, reads, registers) in [
        ("agent.calls", "call:notes.read", &all[..1], &[][..], false, false),
        ("agent.sees", "see:notes.write", &[], &all[1..], false, false),
        ("agent.lists", "list", &[], &all, false, false),
        ("agent.reads", "read", &[], &[], true, false),
        ("agent.registers", "register", &[], &[], false, true),
    ] {
        let client = client(owner, &[permission]);
        for tool in all {
            let answer = client.call(tool);
            if calls.contains(&tool) {
                assert_eq!(answer["result"]["content"][0]["text"], "done", "{permission}: {answer}");
            } else {
                is_refused(&answer);
            }
        }
        assert_eq!(client.names(), sees, "{permission}");
        let list = client.ask("mgp/discovery/list", &json!({}));
        if reads {
            assert_eq!(list["result"]["servers"][0]["id"], "notes", "{list}");
        } else {
            is_refused(&list);
        }
        let registered = client.ask("mgp/discovery/register", &register);
        if registers {
            assert_eq!(registered["result"]["status"], "pending_approval", "{registered}");
        } else {
            is_refused(&registered);
        }
    }
    // None includes another, and a name that is only alike is none.
    let narrow = Client::open(port, &key(&home, "agent.narrow", &["--allow", "call:notes.rea", "--force"]));
    is_refused(&narrow.call("notes.read"));
    // A key that does not hold is refused before anybody asks what it permits.
    let wrong = Client { auth: bearer("mgp_wrong"), ..client("agent.two", &["call:notes.read"]) };
    let (status, _, answer) = wrong.send("tools/call", &json!({"name": "notes.write", "arguments": {}}));
    assert_eq!((status, &answer["error"]["code"]), (401, &json!(-32004)), "{answer}");
}

/// A server that does nothing yet.
const ADDS: &str = concat!(
    "import json\n",
    "NAME = \"add\"\n",
    "DESCRIPTION = \"Adds two numbers.\"\n",
    "INPUT_SCHEMA = {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"number\"}, \"b\": {\"type\": \"number\"}}}\n",
    "def run(arguments):\n    return arguments[\"a\"] + arguments[\"b\"]\n",
    include_str!("../../core/src/registration/harness.py"),
);
