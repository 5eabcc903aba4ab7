//! The kernel as a library: one address in front of the servers of a configuration.
//!
//! ```text
//! cargo run -p mgp-kernel --example gateway -- mgp.toml STATE 127.0.0.1:7332
//! ```

use std::error::Error;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_kernel::Kernel;
use mgp_types::mgp::ShutdownReason;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(state), Some(address)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("gateway CONFIGURATION STATE ADDRESS".into());
    };
    let (config, warnings) = Config::parse(file.as_ref(), &std::fs::read_to_string(&file)?)?;
    for warning in warnings {
        eprintln!("{warning}");
    }
    let socket = TcpListener::bind(address).await?;
    let kernel = Kernel::start(config, state.into()).await?;
    let interrupted = async {
        // Where there is no way to be interrupted, it serves until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    kernel.serve_http(socket, interrupted).await?;
    kernel.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(5)).await;
    Ok(())
}
