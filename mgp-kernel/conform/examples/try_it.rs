//! x
use mgp_conform::*;
#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = RunOptions { patience: std::time::Duration::from_secs(5), ..RunOptions::default() };
    let suite = Suite::built_in();
    let report = match args[0].as_str() {
        "server" => check_server(&suite, &ServerSubject::Command(args[1..].to_vec()), &options).await,
        "url" => check_server(&suite, &ServerSubject::Url(args[1].clone()), &options).await,
        kind => {
            let transport = if kind == "client" { Transport::Stdio } else { Transport::Http };
            check_client(&suite, &ClientSubject { command: args[1..].to_vec(), transport }, &options).await
        }
    };
    for result in &report.results {
        if std::env::var("ALL").is_ok() || matches!(result.status, Status::Failed | Status::Error) {
            println!("{} {} {}ms {}", result.status.word(), result.test_id, result.duration_ms, result.message.as_deref().unwrap_or(""));
        }
    }
    println!("{} {} {:?} {:?}", report.server_name, report.server_version, report.summary, report.level);
}
