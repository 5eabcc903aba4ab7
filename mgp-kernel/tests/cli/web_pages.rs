use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::home::Home;
use crate::kernel::Kernel;

fn status(address: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_page_that_has_its_own_name_lead_here_reads_neither_figures_nor_health() {
    let home = Home::new();
    home.write(
        "mgp.toml",
        &format!("[kernel]\nstate = {:?}\n[telemetry]\nmetrics = true\n", home.path("state")),
    );
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let kernel = Kernel::start(&home, &["--http", &address, "--no-stdio"]);
    // Its own socket is there before the other.
    kernel.port();
    for path in ["/metrics", "/healthz", "/readyz"] {
        for (headers, expected) in [
            (format!("Host: {address}\r\n"), "200"),
            ("Host: 10.1.2.3:7332\r\n".to_owned(), "200"),
            ("Host: evil.example:7332\r\n".to_owned(), "403"),
            (format!("Host: {address}\r\nOrigin: http://evil.example\r\n"), "403"),
        ] {
            assert_eq!(status(&address, path, &headers), expected, "{path} {headers}");
        }
    }
}
