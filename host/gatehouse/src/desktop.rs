//! Desktop notifications of calls that wait for an approval: `notify-send` where there is a graphical session, and
//! `osascript` on macOS.
//!
//! Names of tools are data for these programs, never part of a script, an option or markup. Arguments are not shown. A
//! notification can fail or be hidden, so nothing depends on it.

use std::{collections::HashSet, process::Stdio, sync::Arc, time::Duration};

use gatehouse_core::{
    names::quoted,
    pipeline::{ApprovalQueue, ApprovalRequest},
};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

use crate::config::Env;

/// Time in which a user who sees a form answers it, or a remembered approval applies.
const DELAY: Duration = Duration::from_secs(2);

/// Minimum time between notifications.
const INTERVAL: Duration = Duration::from_secs(10);

const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// Announces calls that still wait after [`DELAY`]. Returns at once if there is no desktop.
pub(crate) async fn announce_approvals(queue: Arc<ApprovalQueue>) {
    if !Env::has_desktop() {
        return;
    }
    let (mut added, mut announced) = (queue.follow(), HashSet::new());
    while added.changed().await.is_ok() {
        sleep(DELAY).await;
        let waiting = queue.requests();
        let are_new = waiting.iter().any(|request| !announced.contains(&request.id));
        announced = waiting.iter().map(|request| request.id.clone()).collect();
        if are_new {
            show(&text(&waiting)).await;
            sleep(INTERVAL).await;
        }
    }
}

fn text(waiting: &[ApprovalRequest]) -> String {
    let subject = match waiting {
        [request] => format!("A call of {} waits", quoted(&request.tool, 64)),
        _ => format!("{} calls wait", waiting.len()),
    };
    format!("{subject} for your approval. Run: gatehouse approve")
}

async fn show(text: &str) {
    let mut command = if cfg!(target_os = "macos") {
        let script =
            ["on run argv", "display notification (item 1 of argv) with title \"Gatehouse\"", "end run"];
        let mut command = Command::new("osascript");
        command.args(script.into_iter().flat_map(|line| ["-e", line]));
        command
    } else {
        let mut command = Command::new("notify-send");
        command.args(["--app-name=Gatehouse", "--", "Gatehouse"]);
        command
    };
    // The text of `notify-send` may contain markup.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    command.arg(text).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    match command.spawn() {
        Ok(mut child) => drop(timeout(PROGRAM_TIMEOUT, child.wait()).await),
        Err(error) => tracing::debug!(%error, "cannot show a desktop notification"),
    }
}
