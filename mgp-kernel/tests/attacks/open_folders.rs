//! The folders that are open to a client: those in which it works, whoever started the kernel, and no more than that.

use std::path::Path;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_transport::child::ChildCommand;
use mgp_types::Revision;
use mgp_types::mcp::Root;
use serde_json::{Value, json};

use crate::home::{Home, Ran};
use crate::kernel::Kernel;
use crate::runner::tests;
use crate::server;

tests![
    what_is_open_follows_the_client_and_not_the_one_that_started_the_kernel,
    the_command_in_a_refusal_opens_the_folder_to_clients_of_this_folder_alone,
    a_rule_that_opens_everything_opens_nothing_and_is_not_made,
    a_home_in_which_a_server_works_or_that_it_is_given_is_not_open,
    roots_go_before_the_working_folder_and_are_kept_up_to_date,
    roots_that_are_everything_or_protected_open_nothing,
    links_and_blanks_lead_to_the_same_folder,
    over_http_only_the_roots_of_the_session_are_open,
    configured_roots_count_alone_whatever_a_client_declares,
    a_server_is_given_the_roots_of_the_client_that_it_works_for,
    relative_paths_begin_in_the_folder_of_the_client,
    a_person_reads_files_of_the_folder_in_which_the_command_is_typed,
    two_folders_with_files_of_their_own_have_kernels_of_their_own,
    what_was_decided_before_holds_in_the_kernel_of_a_folder,
];

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

const FREE: &str = "[permissions]\npolicy = \"config_only\"\n\
    grants = [{ permission = \"filesystem.read\" }, { permission = \"filesystem.write\" }]\n\
    [confirmation]\ndangerous = false\n";

/// A user with two projects, a file in each, and a server that may read files.
fn home(lines: &str) -> Home {
    let home = Home::without_linger();
    let server = server::configured(&home, "files", "");
    home.configure(&format!("{FREE}{lines}{server}"));
    for name in ["a", "b"] {
        home.write(&format!("work/{name}/file.txt"), &format!("of {name}"));
    }
    home.let_person_decide();
    home
}

fn plain(revision: Revision) -> ClientBuilder {
    Client::builder("tests", "1.0.0").revisions([revision]).mgp(None)
}

/// A client that works in a folder of the home.
async fn client(home: &Home, folder: &str, builder: ClientBuilder) -> Client {
    let (folder, config) = (home.path(folder), home.path("mgp.toml"));
    let program = || {
        let program = ChildCommand::new(env!("CARGO_BIN_EXE_mgp")).args(["serve"]).current_dir(&folder);
        program.env("HOME", home.path("")).env("MGP_CONFIG_PATH", &config)
    };
    ready(builder.connect_child(program).await.unwrap().boxed()).await
}

/// Waits until the server is there.
async fn ready(client: Client) -> Client {
    while !client.list_tools().await.unwrap().iter().any(|tool| tool.name == "files__read_file") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client
}

/// The text of a file, or of the refusal to read it.
async fn read(client: &Client, path: &Path) -> String {
    let result = client.call_tool("files__read_file", json!({"path": path})).await.unwrap();
    result.content[0].as_text().unwrap_or_default().to_owned()
}

async fn is_closed(client: &Client, path: &Path) -> String {
    let refusal = read(client, path).await;
    assert!(refusal.contains("outside-root"), "{}: {refusal}", path.display());
    refusal
}

fn root(path: &Path) -> Root {
    Root::new(format!("file://{}", path.display().to_string().replace(' ', "%20")))
}

async fn what_is_open_follows_the_client_and_not_the_one_that_started_the_kernel() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let home = home("");
        let file = |name: &str| home.path(&format!("work/{name}/file.txt"));
        let one = client(&home, &format!("work/{first}"), plain(ERAS[0])).await;
        let other = client(&home, &format!("work/{second}"), plain(ERAS[1])).await;
        assert_eq!(read(&one, &file(first)).await, format!("of {first}"));
        assert_eq!(read(&other, &file(second)).await, format!("of {second}"));
        for (client, own, others) in [(&one, first, second), (&other, second, first)] {
            let refusal = is_closed(client, &file(others)).await;
            let own = home.path(&format!("work/{own}")).canonicalize().unwrap();
            assert!(refusal.contains(own.to_str().unwrap()) && refusal.contains("mgp open"), "{refusal}");
        }
        let status = home.json(["status"]);
        assert_eq!(status["clients"].as_array().unwrap().len(), 2, "they share one kernel: {status}");
    }
}

async fn the_command_in_a_refusal_opens_the_folder_to_clients_of_this_folder_alone() {
    let home = home("");
    home.write("work/c d/file.txt", "of c");
    let file = home.path("work/c d/file.txt");
    let (one, other) =
        (client(&home, "work/a", plain(ERAS[0])).await, client(&home, "work/b", plain(ERAS[0])).await);
    let refusal = is_closed(&one, &file).await;
    let command = refusal.split('`').find(|part| part.starts_with("mgp open")).unwrap();
    let mut typed = std::process::Command::new("sh");
    typed.args(["-c", &command.replacen("mgp", env!("CARGO_BIN_EXE_mgp"), 1)]).current_dir("/");
    typed.envs(home.command(["open"]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Home::ran(typed, "");
    assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    // The kernel follows its file.
    while read(&one, &file).await != "of c" {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let refusal = is_closed(&other, &file).await;
    assert!(!refusal.contains("c d`"), "{refusal}");
    home.done(["open", "work/c d", "--everywhere"]);
    while read(&other, &file).await != "of c" {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn a_rule_that_opens_everything_opens_nothing_and_is_not_made() {
    let home = home("[[folders]]\nopen = [\"/\", \"~/\"]\n");
    home.write(".ssh/config", "Host x");
    let client = client(&home, "work/a", plain(ERAS[0])).await;
    is_closed(&client, &home.path("work/b/file.txt")).await;
    for folder in ["/", ".", "..", ".ssh", "/etc"] {
        let ran = home.run(["open", folder, "--everywhere"]);
        assert!(ran.code == Some(1) && ran.err.contains("cannot be opened"), "{folder}: {ran:?}");
    }
}

async fn a_home_in_which_a_server_works_or_that_it_is_given_is_not_open() {
    let home = Home::without_linger();
    let own = home.path("");
    // The last argument is the folder of its notes.
    let server = server::configured(&home, "files", &format!("cwd = {own:?}")).replacen(
        "\"]",
        &format!("\", {own:?}]"),
        1,
    );
    home.configure(&format!("{FREE}{server}"));
    home.let_person_decide();
    for name in ["work/a/file.txt", "private.txt"] {
        home.write(name, &format!("of {name}"));
    }
    let client = client(&home, "work/a", plain(ERAS[0])).await;
    assert_eq!(read(&client, &home.path("work/a/file.txt")).await, "of work/a/file.txt");
    is_closed(&client, &home.path("private.txt")).await;
    is_closed(&client, Path::new("../../private.txt")).await;
}

async fn roots_go_before_the_working_folder_and_are_kept_up_to_date() {
    for revision in ERAS {
        let home = home("");
        let [a, b] = ["a", "b"].map(|name| home.path(&format!("work/{name}")));
        let client = client(&home, "work/a", plain(revision).roots([root(&b)])).await;
        assert_eq!(read(&client, &b.join("file.txt")).await, "of b", "{revision:?}");
        is_closed(&client, &a.join("file.txt")).await;
        client.set_roots([root(&a)]).await.unwrap();
        assert_eq!(read(&client, &a.join("file.txt")).await, "of a", "{revision:?}");
        is_closed(&client, &b.join("file.txt")).await;
        client.set_roots([root(&a), root(&b)]).await.unwrap();
        assert_eq!(read(&client, &b.join("file.txt")).await, "of b", "{revision:?}");
        client.set_roots([]).await.unwrap();
        assert_eq!(read(&client, &a.join("file.txt")).await, "of a", "{revision:?}");
        is_closed(&client, &b.join("file.txt")).await;
    }
}

async fn roots_that_are_everything_or_protected_open_nothing() {
    let home = home("");
    home.write(".ssh/config", "Host x");
    home.write("private.txt", "private");
    let closed = ["private.txt", "work/b/file.txt", ".ssh/config"].map(|name| home.path(name));
    // The kernel goes on from one client to the next.
    let _other = client(&home, "work/b", plain(ERAS[0])).await;
    for declared in ["/", "/etc", "/proc", "HOME", "HOME/.ssh", "HOME/..", "HOME/.ssh/..", "HOME/missing"] {
        let declared = declared.replace("HOME", home.path("").to_str().unwrap().trim_end_matches('/'));
        let client = client(&home, "work/a", plain(ERAS[0]).roots([root(Path::new(&declared))])).await;
        for path in &closed {
            let refusal = read(&client, path).await;
            assert!(
                refusal.contains("outside-root") || refusal.contains("protected-path"),
                "{declared}: {refusal}"
            );
        }
        // What it works in stays open, as it would be without such roots.
        assert_eq!(read(&client, &home.path("work/a/file.txt")).await, "of a", "{declared}");
    }
    // Without another folder nothing is open.
    let client = client(&home, "", plain(ERAS[0]).roots([root(Path::new("/"))])).await;
    for path in &closed {
        let refusal = read(&client, path).await;
        assert!(refusal.contains("outside-root") || refusal.contains("protected-path"), "{refusal}");
    }
}

async fn links_and_blanks_lead_to_the_same_folder() {
    let home = home("");
    home.write("work/my project/file.txt", "of mine");
    let (real, link) = (home.path("work/my project"), home.path("work/link"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    std::os::unix::fs::symlink(home.path("work/b"), real.join("out")).unwrap();
    let works = client(&home, "work/link", plain(ERAS[0])).await;
    let declares = client(&home, "work/a", plain(ERAS[0]).roots([root(&link)])).await;
    let blank = client(&home, "work/a", plain(ERAS[0]).roots([root(&real)])).await;
    for client in [&works, &declares, &blank] {
        for folder in [&real, &link] {
            assert_eq!(read(client, &folder.join("file.txt")).await, "of mine");
            is_closed(client, &folder.join("out/file.txt")).await;
        }
    }
}

async fn over_http_only_the_roots_of_the_session_are_open() {
    let home = home("");
    let kernel = {
        let mut command = home.command(["serve", "--foreground", "--http", "127.0.0.1:0", "--no-stdio"]);
        command.current_dir(home.path("work/a"));
        Kernel::of(&home, command)
    };
    let url = format!("http://127.0.0.1:{}/mcp", kernel.port());
    let [a, b] = ["a", "b"].map(|name| home.path(&format!("work/{name}")));
    let with_roots = plain(ERAS[0]).roots([root(&b)]).connect_http(url.clone()).await.unwrap().boxed();
    let with_roots = ready(with_roots).await;
    assert_eq!(read(&with_roots, &b.join("file.txt")).await, "of b");
    is_closed(&with_roots, &a.join("file.txt")).await;
    with_roots.set_roots([root(&a)]).await.unwrap();
    assert_eq!(read(&with_roots, &a.join("file.txt")).await, "of a");
    let notes = home.path("notes/files/requests");
    for builder in [plain(ERAS[0]), plain(ERAS[1]), plain(ERAS[1]).roots([root(&b)])] {
        let without = ready(builder.connect_http(url.clone()).await.unwrap().boxed()).await;
        for name in ["a", "b"] {
            let refusal = is_closed(&without, &home.path(&format!("work/{name}/file.txt"))).await;
            assert!(refusal.contains("--everywhere"), "{refusal}");
        }
        assert!(read(&without, &notes).await.contains("tools/call"), "the server was given this folder");
    }
}

async fn configured_roots_count_alone_whatever_a_client_declares() {
    let other = Home::new();
    other.write("file.txt", "of the operator");
    let bound = other.path("").canonicalize().unwrap();
    let home = home(&format!("[validators]\nroots = [{bound:?}]\n"));
    let b = home.path("work/b");
    let client = client(&home, "work/a", plain(ERAS[0]).roots([root(&b)])).await;
    assert_eq!(read(&client, &bound.join("file.txt")).await, "of the operator");
    for name in ["work/a/file.txt", "work/b/file.txt"] {
        let refusal = is_closed(&client, &home.path(name)).await;
        assert!(refusal.contains(bound.to_str().unwrap()), "{refusal}");
    }
}

async fn relative_paths_begin_in_the_folder_of_the_client() {
    let home = home("");
    let one = client(&home, "work/a", plain(ERAS[0])).await;
    let other = client(&home, "work/b", plain(ERAS[1])).await;
    for (client, own, others) in [(&one, "a", "b"), (&other, "b", "a"), (&one, "a", "b")] {
        assert_eq!(read(client, Path::new("file.txt")).await, format!("of {own}"));
        is_closed(client, Path::new(&format!("../{others}/file.txt"))).await;
    }
    drop(one);
    assert_eq!(
        read(&other, Path::new("file.txt")).await,
        "of b",
        "the kernel goes on without the client that started it"
    );
}

async fn a_server_is_given_the_roots_of_the_client_that_it_works_for() {
    let home = home("");
    let [a, b] = ["a", "b"].map(|name| home.path(&format!("work/{name}")));
    let wait_for = async |what: &str| {
        let end = tokio::time::Instant::now() + std::time::Duration::from_mins(1);
        loop {
            let noted = std::fs::read_to_string(home.path("notes/files/roots")).unwrap_or_default();
            if noted.lines().last().is_some_and(|last| last.contains(what)) {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "{what} is not told: {noted}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let one = client(&home, "work/a", plain(ERAS[0]).roots([root(&a)])).await;
    read(&one, &a.join("file.txt")).await;
    wait_for("work/a").await;
    let other = client(&home, "work/b", plain(ERAS[0]).roots([root(&b)])).await;
    read(&other, &b.join("file.txt")).await;
    wait_for("work/b").await;
    one.set_roots([root(&a), root(&home.path("work"))]).await.unwrap();
    wait_for("work\"").await;
}

/// Runs a command in a folder of the home.
fn run(home: &Home, folder: &str, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.current_dir(home.path(folder)).env_remove("MGP_CONFIG_PATH");
    Home::ran(command, "")
}

async fn a_person_reads_files_of_the_folder_in_which_the_command_is_typed() {
    let home = home("");
    let _client = client(&home, "work/b", plain(ERAS[0])).await;
    let call = |folder: &str, path: &Path| {
        let mut command = home.command(["--json", "call", "files.read_file"]);
        command.arg(format!("path={}", path.display())).current_dir(home.path(folder));
        Home::ran(command, "")
    };
    let file = home.path("work/a/file.txt");
    assert!(call("work/a", &file).out.contains("of a"), "{:?}", call("work/a", &file));
    let elsewhere = call("work/b", &file);
    assert!(format!("{elsewhere:?}").contains("outside-root"), "{elsewhere:?}");
}

/// A user with a server of their own, and a trusted file with another one in each of two folders.
fn two_projects() -> Home {
    let home = Home::new();
    // The proof of a person is one for all kernels of the user.
    home.let_person_decide();
    home.write(".local/state/mgp/operators.json", &home.read("state/operators.json"));
    home.write(
        ".config/mgp/servers.toml",
        &format!("[kernel]\nlinger = 0\n{}", server::configured(&home, "users", "")),
    );
    for name in ["a", "b"] {
        home.write(&format!("work/{name}/mgp.toml"), &server::configured(&home, &format!("of-{name}"), ""));
        let trusted = run(&home, &format!("work/{name}"), &["trust"]);
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
    }
    home
}

/// A client that works in a folder of the home whose file counts.
async fn folder_client(home: &Home, folder: &str) -> Client {
    let folder = home.path(folder);
    let program = || {
        ChildCommand::new(env!("CARGO_BIN_EXE_mgp"))
            .args(["serve"])
            .current_dir(&folder)
            .env("HOME", home.path(""))
            .env_remove("MGP_CONFIG_PATH")
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
    };
    plain(ERAS[0]).connect_child(program).await.unwrap().boxed()
}

async fn tools_of(client: &Client, server: &str) -> Vec<String> {
    loop {
        let tools = client.list_tools().await.unwrap();
        let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        if [server, "users"].iter().all(|id| names.iter().any(|name| name.starts_with(&format!("{id}__")))) {
            return names;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn two_folders_with_files_of_their_own_have_kernels_of_their_own() {
    let home = two_projects();
    std::fs::create_dir(home.path("work/c")).unwrap();
    let a = folder_client(&home, "work/a").await;
    let b = folder_client(&home, "work/b").await;
    let c = folder_client(&home, "work/c").await;
    for (client, own, others) in [(&a, "of-a", "of-b"), (&b, "of-b", "of-a"), (&c, "users", "of-")] {
        let names = tools_of(client, own).await;
        assert!(!names.iter().any(|name| name.starts_with(others)), "{own}: {names:?}");
    }
    let status = |folder: &str| -> Value {
        let ran = run(&home, folder, &["--json", "status"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    };
    let (in_a, in_b, in_c) = (status("work/a"), status("work/b"), status("work/c"));
    let others: Vec<_> = in_a["others"].as_array().unwrap().iter().map(|other| &other["pid"]).collect();
    assert!(others.len() == 2 && others.contains(&&in_b["pid"]) && others.contains(&&in_c["pid"]), "{in_a}");
    let listed = run(&home, "work/b", &["--json", "servers"]);
    assert!(listed.out.contains("of-b") && !listed.out.contains("of-a"), "{listed:?}");
    assert_eq!(run(&home, "work/b", &["stop"]).code, Some(0));
    assert_eq!(run(&home, "work/b", &["status"]).code, Some(4));
    assert_eq!(status("work/a")["pid"], in_a["pid"]);
    tools_of(&a, "of-a").await;
}

async fn what_was_decided_before_holds_in_the_kernel_of_a_folder() {
    let home = two_projects();
    let denied = run(&home, "", &["access", "deny", "local", "users", "read_file"]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let key = run(&home, "", &["keys", "new", "agent.other", "--allow", "list"]);
    assert_eq!(key.code, Some(0), "{key:?}");
    let listed = run(&home, "work/a", &["--json", "access", "list"]);
    assert!(listed.out.contains("read_file"), "{listed:?}");
    let keys = run(&home, "work/a", &["--json", "keys", "list"]);
    assert!(!keys.out.contains("agent.other"), "{keys:?}");
    let client = folder_client(&home, "work/a").await;
    let names = tools_of(&client, "of-a").await;
    assert!(!names.contains(&"users__read_file".to_owned()), "{names:?}");
}
