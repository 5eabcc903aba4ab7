//! What a server reaches that does as it likes: it was told by its client, or was made for it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::LazyLock;

use serde_json::json;

use crate::home::Home;
use crate::kernel::{Kernel, until};
use crate::runner::tests;
use crate::server::{self, Scene};

tests![
    a_server_of_which_nothing_is_said_changes_open_folders_and_no_settings_in_them if has_views,
    a_server_of_which_nothing_is_said_reads_the_system_and_nothing_of_the_home if is_possible,
    a_server_of_which_nothing_is_said_uses_the_network_and_no_other_process if is_possible,
    a_server_is_confined_unless_its_entry_or_the_kernel_says_otherwise if is_possible,
    a_confined_server_reads_its_own_and_the_systems_files_and_no_others if is_possible,
    a_confined_server_writes_to_its_temporary_folder_and_nowhere_else if is_possible,
    a_confined_server_reaches_no_network_that_it_was_not_permitted if is_possible,
    what_a_confined_server_was_permitted_works if is_possible,
    a_confined_server_reaches_no_socket_of_the_kernel if is_possible,
    what_a_confined_server_starts_is_confined_like_it if is_possible,
    a_confined_server_touches_no_other_process if is_possible,
    a_confined_server_changes_the_limits_of_no_other_process if is_possible,
    what_is_the_kernels_own_stays_closed_whatever_files_were_permitted if is_possible,
    a_server_that_cannot_be_confined_is_not_started,
    a_folder_of_thousands_of_files_beside_the_kernels_own_is_open if is_possible,
    real_interpreters_start_in_a_confinement if is_possible,
    an_installed_server_keeps_a_home_from_which_nothing_else_starts if is_possible,
    what_a_server_starts_ends_with_it_and_with_the_kernel_wherever_it_went if is_linux,
];

/// Says that a test cannot be made here, so that nobody takes it for one that passed.
pub(crate) fn is_possible() -> bool {
    static HAS_LANDLOCK: LazyLock<bool> =
        LazyLock::new(|| Home::with_state().run(["doctor"]).out.contains("by Landlock and seccomp"));
    if !*HAS_LANDLOCK {
        println!("skipped: no Landlock");
    }
    *HAS_LANDLOCK
}

/// Says so where a system makes no mount namespaces for this account.
fn has_views() -> bool {
    static HAS_VIEWS: LazyLock<bool> =
        LazyLock::new(|| !Home::with_state().run(["doctor"]).out.contains("no mount namespaces"));
    if !*HAS_VIEWS {
        println!("skipped: no mount namespaces");
    }
    is_possible() && *HAS_VIEWS
}

/// Lines for a server whose commands nobody judges.
const SPARED: &str =
    "[servers.security]\nspared_validators = [\"sandbox\", \"code_safety\", \"network_restricted\"]\n";

/// A kernel in which nobody is asked, with a confined server `jail` that notes its requests, and a talk with it.
struct Jail(Scene);

impl Jail {
    /// With these lines in the table of what is open to it, and these after it.
    fn new(open: &str, more: &str) -> Self {
        Self::in_home(Home::with_state(), open, more)
    }

    /// With an entry that says only where the server works: in the folder `project` of its home.
    fn in_project() -> Self {
        let home = Home::confining();
        for (name, text) in
            [("project/.git/hooks/sample", ""), ("project/.git/config", "[core]\n"), ("diary", "dear diary")]
        {
            home.write(name, text);
        }
        home.write(".ssh/id_rsa", "key");
        let project = home.path("project").display().to_string();
        let lines = format!("cwd = {project:?}\n{SPARED}");
        Self(Scene::in_home(home, server::UNASKED, &[("jail", &lines)]))
    }

    fn in_home(home: Home, open: &str, more: &str) -> Self {
        let notes = home.path("notes/jail").display().to_string();
        let lines = format!("{SPARED}[servers.confinement]\nwrite = [{notes:?}]\n{open}\n");
        Self(Scene::in_home(home, &format!("{}{more}", server::UNASKED), &[("jail", &lines)]))
    }

    /// What a command prints that the server runs.
    fn runs(&mut self, command: &str) -> String {
        let answer = self.0.call("jail.execute_command", &json!({"command": command}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

async fn a_server_of_which_nothing_is_said_changes_open_folders_and_no_settings_in_them() {
    let mut jail = Jail::in_project();
    assert_eq!(jail.runs("mkdir src && echo new > src/a && mv src/a b && chmod 600 b && cat b"), "new\n");
    for change in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "rm .git/hooks/sample",
        "mv .git elsewhere",
        "mv .git/hooks elsewhere",
        "chmod 777 .git/config",
        "echo evil > ../.bashrc",
        "mkdir ../.config",
        "chmod 777 ../.ssh",
        "ln -s /etc/passwd ../diary2",
    ] {
        let tried = jail.runs(&format!("({change}) 2>/dev/null; echo status $?"));
        assert!(!tried.contains("status 0"), "{change}: {tried}");
    }
    let home = &jail.0.home;
    assert_eq!(home.read("project/.git/config"), "[core]\n");
    assert!(!home.path(".bashrc").exists() && !home.path("project/.git/hooks/pre-commit").exists());
}

async fn a_server_of_which_nothing_is_said_reads_the_system_and_nothing_of_the_home() {
    let mut jail = Jail::in_project();
    let inside = ["diary", ".ssh/id_rsa", "state/mgp.db", "mgp.toml"];
    let inside = inside.map(|name| jail.0.home.path(name).display().to_string());
    for file in inside.iter().map(String::as_str).chain(["/etc/shadow", "/proc/1/environ"]) {
        let read = jail.runs(&format!("cat {file} 2>&1; echo status $?"));
        assert!(read.contains("status 1") && read.contains("denied"), "{file}: {read}");
    }
    for file in ["/etc/passwd", "/etc/hosts"] {
        assert!(jail.runs(&format!("cat {file}; echo status $?")).ends_with("status 0\n"), "{file}");
    }
    let own = jail.runs("echo mine > ~/a && cat ~/a && echo yours > $TMPDIR/a && cat $TMPDIR/a");
    assert_eq!(own, "mine\nyours\n");
}

async fn a_server_of_which_nothing_is_said_uses_the_network_and_no_other_process() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut jail = Jail::in_project();
    let port = listener.local_addr().unwrap().port();
    for kind in ["SOCK_STREAM", "SOCK_DGRAM"] {
        assert_eq!(jail.runs(&connecting(port, kind)).trim(), "connected", "{kind}");
    }
    let socket = jail.0.home.path("state/mgp.sock").display().to_string();
    let by_path = "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_UNIX)' 2>&1 | tail -1";
    assert!(jail.runs(by_path).contains("PermissionError"), "{socket}");
    let killed = jail.runs(&format!("kill -0 {} 2>&1; echo status $?", std::process::id()));
    assert!(killed.contains("status 1"), "{killed}");
}

async fn a_server_is_confined_unless_its_entry_or_the_kernel_says_otherwise() {
    for (confines, line, reach) in [
        (true, "", "folders"),
        (true, "confine = false", "all"),
        (true, "confine = true", "own"),
        (false, "", "all"),
        (false, "[servers.confinement]\nfolders = true", "folders"),
    ] {
        let home = if confines { Home::confining() } else { Home::with_state() };
        server::configure(&home, "", &[("jail", line)]);
        let _kernel = Kernel::start(&home, &[]);
        assert_eq!(home.json(["servers"])["servers"][0]["reach"], reach, "{confines} {line}");
    }
}

async fn a_confined_server_reads_its_own_and_the_systems_files_and_no_others() {
    let mut jail = Jail::new("", "");
    jail.0.home.write("diary", "dear diary");
    let diary = jail.0.home.path("diary").display().to_string();
    for file in ["/etc/passwd", "/etc/hostname", &diary, "/proc/self/environ", "/proc/1/environ", "/dev/tty"]
    {
        let read = jail.runs(&format!("cat {file} 2>&1; echo status $?"));
        assert!(read.contains("status 1") && read.contains("denied"), "{file}: {read}");
    }
    let listed = jail.runs(&format!("ls {}; echo status $?", jail.0.home.path("").display()));
    assert!(!listed.contains("diary") && listed.contains("status 2"), "{listed}");
    assert!(jail.runs("cat /usr/lib/os-release 2>/dev/null || ls /usr").len() > 10);
}

async fn a_confined_server_writes_to_its_temporary_folder_and_nowhere_else() {
    let mut jail = Jail::new("", "");
    jail.0.home.write(".bashrc", "# mine");
    let state = jail.0.home.path("state");
    for file in
        [jail.0.home.path(".bashrc"), jail.0.home.path("new"), state.join("mgp.db"), "/tmp/mgp-attack".into()]
    {
        let wrote = jail.runs(&format!("echo evil >> {}; echo status $?", file.display()));
        assert!(!wrote.contains("status 0"), "{}: {wrote}", file.display());
    }
    assert_eq!(jail.0.home.read(".bashrc"), "# mine");
    let chmod = jail.runs(&format!("chmod 777 {}; echo status $?", jail.0.home.path(".bashrc").display()));
    assert!(chmod.contains("status 1"), "{chmod}");
    let own = jail.runs("echo mine > $TMPDIR/a && cat $TMPDIR/a && cd && pwd && echo $TMPDIR");
    let lines: Vec<_> = own.lines().collect();
    assert!(lines[0] == "mine" && lines[1] == lines[2], "{own}");
    assert!(
        lines[1].starts_with(&state.canonicalize().unwrap().join("scratch").display().to_string()),
        "{own}"
    );
}

/// Connects to a port by Python and says whether it could.
fn connecting(port: u16, kind: &str) -> String {
    format!(
        "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.{kind}); \
         s.connect((\"127.0.0.1\", {port})); s.send(b\"x\"); print(\"connected\")' 2>&1 | tail -1"
    )
}

async fn a_confined_server_reaches_no_network_that_it_was_not_permitted() {
    let (one, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (one, other) = (one.local_addr().unwrap().port(), other.local_addr().unwrap().port());
    let mut closed = Jail::new("", "");
    for kind in ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW"] {
        let tried = closed.runs(&connecting(one, kind));
        assert!(tried.contains("PermissionError"), "{kind}: {tried}");
    }
    let mut by_port = Jail::new(&format!("connect = [{one}]"), "");
    let tried = by_port.runs(&connecting(other, "SOCK_STREAM"));
    assert!(tried.contains("PermissionError"), "{tried}");
    let tried = by_port.runs(&connecting(one, "SOCK_DGRAM"));
    assert!(tried.contains("PermissionError"), "{tried}");
    // These are bounded by no Landlock: another protocol, and a connection that begins with what it sends.
    let another = format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)' 2>&1 | tail -1; \
         /usr/bin/python3 -c 'import socket; s = socket.socket(); s.sendto(b\"x\", 0x20000000, (\"127.0.0.1\", {other}))' 2>&1 | tail -1"
    );
    let tried = by_port.runs(&another);
    assert_eq!(tried.matches("PermissionError").count(), 2, "{tried}");
}

async fn what_a_confined_server_was_permitted_works() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().display();
    fs::create_dir(folder.path().join("secret")).unwrap();
    fs::write(folder.path().join("secret/key"), "key").unwrap();
    fs::write(folder.path().join("book"), "a book").unwrap();
    let grants = format!(
        "[[permissions.grants]]\nserver = \"jail\"\npermission = \"filesystem.read\"\n\
         scope = {{ paths = [\"{shown}/**\"], deny_paths = [\"{shown}/secret\"] }}\n\
         [[permissions.grants]]\nserver = \"jail\"\npermission = \"network.outbound\"\nscope = {{ ports = [{port}] }}\n"
    );
    let mut jail = Jail::new("", &grants);
    assert_eq!(jail.runs(&format!("cat {shown}/book")), "a book");
    assert!(!jail.runs(&format!("cat {shown}/secret/key 2>&1")).starts_with("key"));
    assert!(jail.runs(&format!("echo x > {shown}/book; echo status $?")).contains("status 2"));
    assert_eq!(jail.runs(&connecting(port, "SOCK_STREAM")).trim(), "connected");
}

async fn a_confined_server_reaches_no_socket_of_the_kernel() {
    let everything = "[[permissions.grants]]\nserver = \"jail\"\npermission = \"filesystem.write\"\n\
                      [[permissions.grants]]\nserver = \"jail\"\npermission = \"network.outbound\"\n";
    let mut jail = Jail::new("", everything);
    let socket = jail.0.home.path("state/mgp.sock").display().to_string();
    let other = jail.0.home.path("other.sock");
    let _listener = UnixListener::bind(&other).unwrap();
    for path in [&socket, &other.display().to_string()] {
        let tried = jail.runs(&format!(
            "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{path}\"); print(\"connected\")' 2>&1 | tail -1"
        ));
        assert!(tried.contains("PermissionError"), "{path}: {tried}");
    }
    let pair = "/usr/bin/python3 -c 'import socket; socket.socketpair(); print(\"paired\", flush=True); \
                socket.socketpair(type=socket.SOCK_DGRAM)' 2>&1";
    let tried = jail.runs(pair);
    assert!(tried.starts_with("paired") && tried.contains("PermissionError"), "{tried}");
    let read = jail.runs(&format!("cat {}; echo status $?", jail.0.home.path("state/mgp.db").display()));
    assert!(read.contains("status 1"), "{read}");
}

async fn what_a_confined_server_starts_is_confined_like_it() {
    let mut jail = Jail::new("", "");
    let nested = "sh -c \"setsid sh -c 'sh -c \\\"cat /etc/passwd\\\"'\" 2>&1; echo status $?";
    let read = jail.runs(nested);
    assert!(read.contains("denied") && !read.contains("root:"), "{read}");
    let escape = jail.runs("unshare -r true; echo status $?");
    assert!(!escape.contains("status 0"), "{escape}");
    let privileges =
        jail.runs("/usr/bin/python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))'");
    assert_eq!(privileges.trim(), "1", "no new privileges");
}

async fn a_confined_server_touches_no_other_process() {
    let mut jail = Jail::new("", "");
    let traced = jail.runs(
        "/usr/bin/python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); \
         print(c.ptrace(16, os.getppid(), 0, 0), ctypes.get_errno())'",
    );
    assert_eq!(traced.trim(), "-1 1", "ptrace");
    let mut victim = Ending(std::process::Command::new("sleep").arg("60").spawn().unwrap());
    if jail.0.home.run(["doctor"]).out.contains("; signals\n") {
        let killed = jail.runs(&format!("kill -9 {}; echo status $?", victim.0.id()));
        assert!(!killed.contains("status 0"), "{killed}");
        assert!(victim.0.try_wait().unwrap().is_none());
    } else {
        println!("skipped: this Landlock does not bound signals");
    }
}

async fn a_confined_server_changes_the_limits_of_no_other_process() {
    let mut jail = Jail::new("", "");
    let victim = Ending(std::process::Command::new("sleep").arg("60").spawn().unwrap());
    let pid = victim.0.id();
    for attempt in [
        format!("resource.prlimit({pid}, resource.RLIMIT_CPU, (0, 0))"),
        format!("resource.prlimit({pid}, resource.RLIMIT_FSIZE)"),
        format!("os.setpriority(os.PRIO_PROCESS, {pid}, 19)"),
        "os.setpriority(os.PRIO_USER, 0, 19)".to_owned(),
        format!("os.sched_setaffinity({pid}, [0])"),
        format!("os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))"),
        // 251 and 30 are ioprio_set; 29 and 194 are shmget; 240 and 180 mq_open; 463 came after the lists.
        format!("call({{\"x86_64\": 251, \"aarch64\": 30}}, 1, {pid}, 0)"),
        "call({\"x86_64\": 29, \"aarch64\": 194}, 0, 4096, 0o1600)".to_owned(),
        "call({\"x86_64\": 240, \"aarch64\": 180}, b\"/mgp\", 0o102, 0o600, 0)".to_owned(),
        "call({\"x86_64\": 463, \"aarch64\": 463}, 0, 0, 0, 0)".to_owned(),
    ] {
        let tried = jail.runs(&format!(
            "/usr/bin/python3 -c 'import ctypes, os, platform, resource\n\
             def call(numbers, *rest):\n  number = numbers[platform.machine()]\n  c = ctypes.CDLL(None, use_errno=True)\n\
             \x20 if c.syscall(number, *rest) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n\
             try: {attempt}; print(\"done\")\nexcept OSError as error: print(error.errno)'"
        ));
        assert!(["1", "38"].contains(&tried.trim()), "{attempt}: {tried}");
    }
    let own = "/usr/bin/python3 -c 'import os, resource; resource.setrlimit(resource.RLIMIT_CPU, (60, 60)); os.nice(1); \
               os.sched_setaffinity(0, os.sched_getaffinity(0)); print(\"own\")' 2>&1";
    assert_eq!(jail.runs(own).trim(), "own");
}

async fn what_is_the_kernels_own_stays_closed_whatever_files_were_permitted() {
    let home = Home::with_state();
    home.write("book", "a book");
    let mut jail = Jail::in_home(home, "", EVERYTHING);
    assert_eq!(jail.runs(&format!("cat {}", jail.0.home.path("book").display())), "a book");
    let config = jail.0.home.path("mgp.toml");
    let before = fs::read_to_string(&config).unwrap();
    for attempt in [
        format!("cat {}", config.display()),
        format!("echo '# more' >> {}", config.display()),
        format!("rm {}", config.display()),
        format!("cat {}", jail.0.home.path("state/mgp.db").display()),
        "cat /proc/1/status".to_owned(),
        "cat /proc/version".to_owned(),
        "cat < /dev/ptmx".to_owned(),
        "cat /sys/kernel/mm/ksm/run".to_owned(),
    ] {
        let tried = jail.runs(&format!("{attempt} 2>&1; echo status $?"));
        assert!(!tried.contains("status 0"), "{attempt}: {tried}");
    }
    assert_eq!(fs::read_to_string(config).unwrap(), before);
}

/// Beside the kernel's own files each entry of a folder is opened by itself, so that a confinement may be long.
async fn a_folder_of_thousands_of_files_beside_the_kernels_own_is_open() {
    let home = Home::with_state();
    for file in 0..3_000 {
        fs::write(home.path(&format!("a-book-with-a-rather-long-title-{file}")), "a book").unwrap();
    }
    let mut jail = Jail::in_home(home, "", EVERYTHING);
    let last = jail.0.home.path("a-book-with-a-rather-long-title-2999");
    assert_eq!(jail.runs(&format!("cat {}", last.display())), "a book");
    let rules = jail.0.home.path("state/scratch/confinement-*");
    for attempt in ["cat", "echo >>", "rm -f"] {
        let tried = jail.runs(&format!(
            "for rules in {}; do {attempt} $rules 2>&1; echo status $?; done",
            rules.display()
        ));
        assert!(tried.contains("denied") && !tried.contains("status 0"), "{attempt}: {tried}");
    }
}

const EVERYTHING: &str = "[[permissions.grants]]\nserver = \"jail\"\npermission = \"filesystem.read\"\n\
                          [[permissions.grants]]\nserver = \"jail\"\npermission = \"filesystem.write\"\n";

/// A process that is ended with the test.
struct Ending(std::process::Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn a_server_that_cannot_be_confined_is_not_started() {
    let home = Home::with_state();
    let socket = home.path("state/x").display().to_string();
    let server = server::configured(&home, "jail", &format!("[servers.confinement]\nread = [{socket:?}]"));
    home.configure(&server);
    let ran = home.run(["tools", "--server", "jail"]);
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("is not started: it is to be confined, and"), "{ran:?} {doctor:?}");
    assert!(server::requests(&home, "jail").is_empty());
}

async fn real_interpreters_start_in_a_confinement() {
    let mut jail = Jail::new("", "");
    assert_eq!(jail.runs("/usr/bin/python3 -c 'import json, ssl, sqlite3; print(1 + 1)' 2>&1").trim(), "2");
    if std::process::Command::new("node").arg("--version").output().is_ok() {
        assert_eq!(jail.runs("node -e 'require(\"http\"); console.log(1 + 1)' 2>&1").trim(), "2");
    } else {
        println!("skipped: no node");
    }
}

async fn an_installed_server_keeps_a_home_from_which_nothing_else_starts() {
    let home = Home::with_state();
    let tools = [".npm/_npx/x/index.js", ".cache/uv/tool", ".local/share/uv/tools/ruff", ".local/bin/ruff"];
    for tool in &tools {
        home.write(tool, "honest");
    }
    let notes = home.path("notes/jail").display().to_string();
    let package = "package = \"io.github.someone/jail@1.0.0\"";
    let lines = format!("{package}\n{SPARED}[servers.confinement]\nwrite = [{notes:?}]\n");
    let grant = "[[permissions.grants]]\nserver = \"jail\"\npermission = \"filesystem.write\"\n";
    let mut jail = Jail(Scene::in_home(home, &format!("{}{grant}", server::UNASKED), &[("jail", &lines)]));
    for tool in tools {
        let path = jail.0.home.path(tool);
        let wrote = jail.runs(&format!("echo evil > {}; echo status $?", path.display()));
        assert!(!wrote.contains("status 0") && jail.0.home.read(tool) == "honest", "{tool}: {wrote}");
    }
    let own = "echo kept >> $HOME/.npm; cat $HOME/.npm; echo $HOME; echo $TMPDIR";
    let first = jail.runs(own);
    jail.0.home.done(["restart", "jail"]);
    let second = jail.runs(own);
    let [first, second] = [&first, &second].map(|text| text.lines().collect::<Vec<_>>());
    assert_eq!((first[0], &second[..2]), ("kept", &["kept", "kept"][..]), "{second:?}");
    assert!(first[1] == second[2] && first[2] != second[3] && first[1] != first[2], "{first:?} {second:?}");
}

/// Says that a test cannot be made here: only Linux gives orphans to whoever wants them.
fn is_linux() -> bool {
    cfg!(target_os = "linux")
}

async fn what_a_server_starts_ends_with_it_and_with_the_kernel_wherever_it_went() {
    for (end, is_confined) in [
        ("stop the server", false),
        ("stop the server", true),
        ("stop the kernel", false),
        ("kill the kernel", false),
        ("kill the server", false),
    ] {
        let home = Home::with_state();
        let notes = home.path("notes/jail").display().to_string();
        let bounds = format!("[servers.confinement]\nwrite = [{notes:?}]\n");
        let lines = format!("{SPARED}{}", if is_confined && is_possible() { &*bounds } else { "" });
        let mut jail = Jail(Scene::in_home(home, server::UNASKED, &[("jail", &lines)]));
        // In a session of its own, and without a parent that knows it.
        let started = jail.runs("(setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $!)");
        let orphan: u32 = started.trim().parse().unwrap();
        assert!(lives(orphan), "{started}");
        let server = jail.0.home.json(["servers"])["servers"][0]["pid"].to_string();
        match end {
            "stop the server" => drop(jail.0.home.done(["stop", "jail"])),
            "stop the kernel" => drop(jail.0.home.done(["stop"])),
            "kill the kernel" => jail.0.kernel.signal("KILL"),
            _ => drop(std::process::Command::new("kill").args(["-KILL", &server]).status().unwrap()),
        }
        until(&format!("{end}, {is_confined}: {orphan} has ended"), || !lives(orphan));
    }
}

fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}
