//! What servers are given of the environment, and what they miss.

use std::collections::BTreeMap;
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt as _;

use crate::home::{Home, PERSON};
#[cfg(target_os = "linux")]
use crate::kernel::{Kernel, Talk};

/// A home with a server that works, and writes its environment to a file before that.
fn telling(lines: &str) -> Home {
    let home = Home::new();
    let [program, file] = home.clock();
    fs::create_dir(home.path("told")).unwrap();
    let script = format!("env >'{}'; exec {program} \"$0\"", home.path("told/environment").display());
    let args = serde_json::json!(["-c", script, file]);
    home.write(
        "mgp.toml",
        &format!("{lines}\n[[servers]]\nid = \"clock\"\ncommand = \"sh\"\nargs = {args}\n"),
    );
    home
}

#[test]
fn servers_are_given_proxies_certificates_and_what_pass_env_names() {
    let home = telling("pass_env = [\"CORP_*\", \"!SSL_CERT_DIR\", \"MGP_*\"]");
    let mut command = home.command(["tools"]);
    for name in ["HTTPS_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "CORP_ZONE", "OTHER_TOKEN"]
    {
        command.env(name, "/set");
    }
    let ran = Home::ran(command, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = home.read("told/environment");
    let given: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
    for name in ["HTTPS_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "CORP_ZONE", "PATH", "HOME"] {
        assert!(given.contains_key(name), "{name}: {text}");
    }
    for name in ["SSL_CERT_DIR", "OTHER_TOKEN", "MGP_OPERATORS_TOKEN", "MGP_CONFIG_PATH"] {
        assert!(!given.contains_key(name), "{name}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_token_of_a_script_stays_in_no_environment() {
    let home = telling("");
    let mut client = Kernel::in_background(&home);
    let mut talk = Talk::open(&mut client);
    talk.ask("tools/list", &serde_json::json!({}));
    let other = Home::with_state();
    let alone = Kernel::start(&other, &["--no-stdio"]);
    alone.tells("operators reach it at");
    let kernel = home.json(["status"])["pid"].as_u64().unwrap();
    for (pid, is_kernel) in
        [(u64::from(client.child.id()), false), (u64::from(alone.child.id()), true), (kernel, true)]
    {
        let environment = format!("/proc/{pid}/environ");
        // Nobody but root reads that of a kernel.
        let text = fs::read_to_string(&environment).unwrap_or_default();
        assert!(!text.contains(PERSON) && text.is_empty() == (is_kernel && !is_root()), "{pid}: {text:?}");
        assert_eq!(fs::metadata(&environment).unwrap().uid() == 0, is_kernel || is_root(), "{pid}");
    }
    assert!(!home.read("told/environment").contains("MGP_OPERATORS_TOKEN"));
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_token_is_read_from_an_open_file() {
    let home = Home::with_state();
    let issue = |token: &str| {
        let mut command = home.command(["keys", "new", "ada", "--allow", "list"]);
        command.env("MGP_OPERATORS_TOKEN", "fd:0");
        Home::ran(command, token).code
    };
    assert_eq!(issue(PERSON), Some(0));
    assert_ne!(issue("mgp_operators_of_nobody"), Some(0));
}

#[test]
fn doctor_names_variables_that_servers_probably_miss() {
    let home = Home::new();
    let script = r#"echo "Error: HUB_API_KEY environment variable is required" >&2; exit 1"#;
    home.json(["add", "hub", "--", "sh", "-c", script]);
    home.add_server("weather", &home.clock());
    let mut command = home.command(["doctor"]);
    command.env("WEATHER_TOKEN", "s3cret");
    let ran = Home::ran(command, "");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.out.contains("hub is not given HUB_API_KEY") && ran.out.contains("`mgp secrets set HUB_API_KEY`"),
        "{ran:?}"
    );
    assert!(ran.out.contains("ok  environment: weather is not given WEATHER_TOKEN"), "{ran:?}");
    assert!(!ran.out.contains("s3cret"), "{ran:?}");
}
