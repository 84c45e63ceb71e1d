//! `context`: facts about the running call, log lines, progress and messages.

use gatehouse_core::ports::client::{ClientFeatures, ClientProfile, MessageLevel as Core};

use super::gatehouse::gate::context::{ClientInfo, Host, Level, MessageLevel};
use crate::state::State;

impl Host for State {
    fn params(&mut self) -> wasmtime::Result<String> {
        Ok(self.capabilities.facts().params.to_string())
    }

    fn log(&mut self, level: Level, message: String, fields: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Trace => tracing::Level::TRACE,
            Level::Debug => tracing::Level::DEBUG,
            Level::Info => tracing::Level::INFO,
            Level::Warn => tracing::Level::WARN,
            Level::Error => tracing::Level::ERROR,
        };
        self.capabilities.log(level, &message, &fields);
        Ok(())
    }

    fn progress(&mut self, done: u64, total: Option<u64>, message: Option<String>) -> wasmtime::Result<()> {
        self.capabilities.progress(done, total, message);
        Ok(())
    }

    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.capabilities.facts().ports.clock.now_ms())
    }

    fn remaining(&mut self) -> wasmtime::Result<u64> {
        let call = self.capabilities.facts().call.as_ref();
        Ok(call.map_or(0, |call| u64::try_from(call.deadline.remaining().as_millis()).unwrap_or(u64::MAX)))
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.capabilities.facts().call.as_ref().is_some_and(|call| call.context.cancel.is_cancelled()))
    }

    fn exposed_name(&mut self, tool: String) -> wasmtime::Result<Option<String>> {
        let call = self.capabilities.facts().call.as_ref();
        Ok(call.and_then(|call| call.context.catalog.exposed_name(&tool)).map(str::to_owned))
    }

    fn client(&mut self) -> wasmtime::Result<ClientInfo> {
        Ok(self.capabilities.client().into())
    }

    fn message(&mut self, level: MessageLevel, data: String) -> wasmtime::Result<()> {
        self.capabilities.message(level.into(), &data);
        Ok(())
    }
}

enums! {
    Core => MessageLevel { Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency }
    MessageLevel => Core { Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency }
}

impl From<ClientProfile> for ClientInfo {
    fn from(profile: ClientProfile) -> Self {
        let ClientProfile { name, version, protocol, features, messages } = profile;
        let ClientFeatures { forms, urls, sampling, .. } = features;
        Self { name, version, protocol, forms, urls, sampling, messages: messages.map(Into::into) }
    }
}
