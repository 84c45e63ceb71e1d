//! `gatehouse approve`: asks a person at a terminal about calls that wait for an approval.

use std::{
    collections::HashSet,
    io::{self, IsTerminal as _},
    path::Path,
    time::Duration,
};

use clap::Args;
use gatehouse_core::{
    names::quoted,
    pipeline::{AnswerEffect, ApprovalRequest},
};

use super::{CommandError, CommandResult, GlobalArgs};
use crate::{
    config::{Env, locate},
    control, out, signals,
};

/// Interval of looks for new calls while following.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct Arguments {
    /// Wait for further calls, until ctrl-c
    #[arg(long)]
    follow: bool,
}

enum Choice {
    Answer(bool),
    Skip,
    Quit,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    // A program that reads the output would answer in place of a person.
    if ![io::stdin().is_terminal(), io::stderr().is_terminal()].iter().all(|is_terminal| *is_terminal) {
        return Err(CommandError::usage(
            "`gatehouse approve` asks a person, and there is no terminal: run it in a terminal. `gatehouse status` lists the \
             calls that wait",
        ));
    }
    let state = locate::data_folder(global.config.as_deref(), env);
    let stop = signals::shutdown_token(None);
    let mut skipped = HashSet::new();
    let mut is_idle = false;
    loop {
        let Some((pid, request)) = next(&state, &skipped).await else {
            if !arguments.follow {
                let rest = if skipped.is_empty() { "No call waits" } else { "No other call waits" };
                out::note(format!("{rest} for an approval."));
                return Ok(());
            }
            if !std::mem::replace(&mut is_idle, true) {
                out::note("Waiting for calls that need an approval; Ctrl-C ends.");
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(FOLLOW_INTERVAL) => continue,
            }
        };
        is_idle = false;
        let choice = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            choice = ask(pid, &request) => choice?,
        };
        match choice {
            Choice::Answer(allow) => {
                let effect = control::answer(&state, pid, &request.id, allow).await;
                out::note(describe_answer(&request, allow, &effect.map_err(CommandError::failed)?));
            }
            Choice::Skip => drop(skipped.insert(request.id)),
            Choice::Quit => return Ok(()),
        }
    }
}

/// Returns the next request that the user has not skipped, and the process id of its host.
async fn next(state: &Path, skipped: &HashSet<String>) -> Option<(u32, ApprovalRequest)> {
    let hosts = control::running(state).await;
    let requests = hosts.into_iter().flat_map(|host| {
        let pid = host.facts.pid;
        host.approvals.into_iter().map(move |request| (pid, request))
    });
    requests.into_iter().find(|(_, request)| !skipped.contains(&request.id))
}

async fn ask(pid: u32, request: &ApprovalRequest) -> CommandResult<Choice> {
    let ApprovalRequest { preset, principal, client, question, waiting_seconds, .. } = request;
    let client = if client.is_empty() { "a client".to_owned() } else { quoted(client, 64) };
    let left =
        if request.is_connected { "" } else { ", which has given up; an approval counts if it calls again" };
    let text = format!(
        "\n{question}\n({client}{left}; principal {}, preset {}, host {pid}; for {waiting_seconds} s)\n\
         Allow? [y]es, [n]o, [s]kip, [q]uit: ",
        quoted(principal, 64),
        quoted(preset, 64),
    );
    let typed =
        tokio::task::spawn_blocking(move || out::prompt(&text)).await.map_err(CommandError::failed)?;
    Ok(match typed.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Choice::Answer(true),
        "n" | "no" => Choice::Answer(false),
        // An empty line is no answer, and the end of the input no line.
        "q" | "quit" => Choice::Quit,
        _ => Choice::Skip,
    })
}

/// Returns what an answer did.
pub(crate) fn describe_answer(request: &ApprovalRequest, allow: bool, effect: &AnswerEffect) -> String {
    let tool = quoted(&request.tool, 64);
    let verdict = |allowed: bool| if allowed { "allowed" } else { "declined" };
    match effect {
        AnswerEffect::Taken { is_connected: false } if allow => {
            format!("'{tool}' is allowed, once, if its client repeats the call within 10 min.")
        }
        AnswerEffect::Taken { .. } => format!("'{tool}' is {}.", verdict(allow)),
        AnswerEffect::AnsweredBefore { allowed, by } => {
            format!("'{tool}' was {} by {by} before.", verdict(*allowed))
        }
        AnswerEffect::Unknown => format!("'{tool}' does not wait any more, and did not run."),
    }
}
