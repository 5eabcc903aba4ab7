//! Questions that are told to people who look at no page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac;

use crate::home::Home;
use crate::kernel::Kernel;
use crate::people::{PATIENCE, home_with_notes};

/// Takes a request, answers with this status, and returns its headers in small letters and its body.
pub(crate) fn taken(listener: &TcpListener, status: &str) -> (String, String) {
    let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let line = match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}", name.to_lowercase()),
            None => line,
        };
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    (head, String::from_utf8(body).unwrap())
}

pub(crate) fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("no {name} in {head}")).trim()
}

#[test]
fn a_question_is_told_to_a_program_and_to_a_webhook_until_that_takes_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let home = home_with_notes("");
    let told = home.path("told");
    let script = format!("cat >/dev/null; echo \"$MGP_ANSWER $MGP_QUESTION\" >'{}'", told.display());
    home.configure(&format!(
        "[ui]\nenabled = true\n[[approvals.notify]]\ncommand = ['sh', '-c', '''{script}''']\n[[approvals.notify]]\n\
         webhook = 'http://127.0.0.1:{port}/hook'\nsecret = 'whsec_{}'\n",
        BASE64.encode("a secret of the test"),
    ));
    let (_kernel, _) = Kernel::on_http(&home);
    let mut command = home.command(["call", "notes.remove_note", "number=1"]);
    command.env_remove("MGP_OPERATORS_TOKEN");
    assert_eq!(Home::ran(command, "").code, Some(6));
    let id = home.json(["permissions", "pending"])["questions"][0]["id"].as_str().unwrap().to_owned();

    let (first, _) = taken(&listener, "503 Service Unavailable");
    let (head, body) = taken(&listener, "204 No Content");
    assert_eq!(header(&first, "webhook-id"), header(&head, "webhook-id"), "it is the same message");
    let event: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&event["type"], &event["data"]["id"]), (&"mgp.question.asked".into(), &(&*id).into()));
    let link = event["data"]["link"].as_str().unwrap();
    assert!(link.starts_with("http://127.0.0.1:") && link.ends_with(&format!("/questions/{id}")), "{link}");
    let signed = format!("{}.{}.{body}", header(&head, "webhook-id"), header(&head, "webhook-timestamp"));
    let signature = BASE64.decode(header(&head, "webhook-signature").strip_prefix("v1,").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"a secret of the test");
    hmac::verify(&key, signed.as_bytes(), &signature).unwrap();

    let told = crate::kernel::found("what the program was told", || {
        std::fs::read_to_string(&told).ok().filter(|told| told.ends_with('\n'))
    });
    assert!(told.starts_with(&format!("{link} ")) && told.contains("`notes.remove_note`"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_configuration_the_desktop_shows_a_question_with_no_markup_of_others() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = home_with_notes("");
    let shown = home.path("shown");
    home.write(
        "bin/notify-send",
        &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new'; mv '{0}.new' '{0}'\n", shown.display()),
    );
    std::fs::set_permissions(home.path("bin/notify-send"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let paths = format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    let variables = [("PATH", &*paths), ("DISPLAY", ":7")];
    let _kernel = Kernel::start_where(&home, &variables, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let call = || {
        let mut command = home.command(["call", "notes.remove_note", "number=1"]);
        command.env_remove("MGP_OPERATORS_TOKEN");
        Home::ran(command, "").code == Some(6)
    };
    crate::kernel::until("somebody is asked", call);
    let shown = crate::kernel::found("what the desktop shows", || std::fs::read_to_string(&shown).ok());
    assert!(shown.contains("mgp needs your approval\n") && shown.contains("Answer: mgp watch"), "{shown}");
    assert!(shown.contains("remove_note") && !shown.contains('<'), "{shown}");
}

#[test]
fn a_way_that_notifies_nobody_is_a_fault_of_the_configuration() {
    let home = home_with_notes("[[approvals.notify]]\nwebhook = 'https://hooks.example/a'\n");
    let checked = home.run(["config", "check"]);
    assert_ne!(checked.code, Some(0));
    assert!(
        checked.err.contains("this notifies nobody") || checked.out.contains("this notifies nobody"),
        "{checked:?}"
    );
}
