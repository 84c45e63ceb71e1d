//! The contract, a module per version: bindings made from its WIT files, and conversions between their types and
//! core's. Nothing else in the host knows that there are versions; docs/contract-versions.md says how one is added.

/// Conversions between records whose fields have the same names. Those in square brackets are lists of what is
/// converted, those in round ones may be missing.
macro_rules! records {
    ($($from:ty => $to:ty {
        $($field:ident),*
    } $([$($list:ident),*])? $(($($option:ident),*))?;)+) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                Self {
                    $($field: value.$field.into(),)*
                    $($($list: value.$list.into_iter().map(Into::into).collect(),)*)?
                    $($($option: value.$option.map(Into::into),)*)?
                }
            }
        }
    )+};
}

/// Conversions between enums whose variants have the same names; `(value)` where each holds one.
macro_rules! enums {
    ($($from:ty => $to:ty { $($variant:ident $(($value:ident))?),* })+) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                type From = $from;
                match value {
                    $(From::$variant $(($value))? => Self::$variant $(($value.into()))?,)*
                }
            }
        }
    )+};
}

#[cfg(test)]
mod copy;
mod v0_1;

use async_trait::async_trait;
use gatehouse_core::{
    catalog::ToolEntry,
    completion::{CompletionRequest, Completions},
    outcome::{self, EmbeddedResource, Reply},
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use wasmtime::{
    Store,
    component::{HasSelf, InstancePre, Linker},
};

use crate::state::State;

/// The version that is built into new projects, and named where a component fits none.
pub(crate) const CURRENT: &str = "gatehouse:gate@0.1.0";

/// One call of a tool, as every version has it.
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// JSON, as are `params`.
    pub(crate) arguments: String,
    pub(crate) params: String,
    /// None for the local user.
    pub(crate) caller: Option<String>,
    pub(crate) preset: String,
    pub(crate) deadline_ms: u64,
    /// What the client said beside the arguments, as JSON.
    pub(crate) meta: Option<String>,
}

/// Why a guest gave no result.
pub(crate) enum GuestError {
    /// It did not return: a trap, or a limit.
    Trap(wasmtime::Error),
    /// It said why, in its own words.
    Fault(outcome::Fault),
    /// What it returned breaks the contract, in a way that this says.
    Broken(String),
}

/// An instance of whatever version, by what it exports. What is asked of an export that it has not is a broken contract:
/// its listing says what there is.
#[async_trait]
pub(crate) trait ContractExports: Send + Sync {
    /// Runs `describe`, and what describes the other exports.
    async fn describe(&self, store: &mut Store<State>, params: &str) -> Result<Listing, GuestError>;

    /// Runs `call`.
    async fn call(&self, store: &mut Store<State>, call: ToolCall) -> Result<Reply, GuestError>;

    /// Runs `on-reply` on a reply of this tool.
    async fn filter(
        &self,
        store: &mut Store<State>,
        call: ToolCall,
        tool: &ToolEntry,
        reply: Reply,
    ) -> Result<Option<Reply>, GuestError>;

    /// Runs `list` of `resources`.
    async fn list_resources(
        &self,
        store: &mut Store<State>,
        params: &str,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, GuestError>;

    /// Runs `read` of `resources`.
    async fn read_resource(
        &self,
        store: &mut Store<State>,
        params: &str,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, GuestError>;

    /// Runs `changes-in` of `resources`.
    async fn changes_in(
        &self,
        store: &mut Store<State>,
        params: &str,
        uri: &str,
    ) -> Result<Option<u64>, GuestError>;

    /// Runs `complete` of `completion`.
    async fn complete(
        &self,
        store: &mut Store<State>,
        params: &str,
        typed: CompletionRequest,
    ) -> Result<Completions, GuestError>;

    /// Runs `get` of `prompts`; the arguments are JSON.
    async fn get_prompt(
        &self,
        store: &mut Store<State>,
        params: &str,
        name: &str,
        arguments: &str,
    ) -> Result<Vec<PromptMessage>, GuestError>;
}

/// The versions, each as `module: variant`; the newest first, whose words say why a component fits none.
macro_rules! versions {
    ($($(#[$attribute:meta])* $module:ident: $variant:ident),+ $(,)?) => {
        /// Gives gates the functions of every version.
        pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
            $($(#[$attribute])* $module::Everything::add_to_linker::<_, HasSelf<_>>(linker, |state: &mut State| state)?;)+
            Ok(())
        }

        /// A component, ready to be instantiated, by the version whose tools it exports.
        pub(crate) enum GatePre {
            $($(#[$attribute])* $variant($module::GatePre),)+
        }

        impl GatePre {
            pub(crate) fn new(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                let mut unfit = Vec::new();
                $($(#[$attribute])* match $module::GatePre::new(pre.clone()) {
                    Ok(pre) => return Ok(Self::$variant(pre)),
                    Err(error) => unfit.push(error),
                })+
                Err(unfit.swap_remove(0))
            }

            pub(crate) async fn instantiate_async(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn ContractExports>> {
                Ok(match self {
                    $($(#[$attribute])* Self::$variant(pre) => Box::new(pre.instantiate_async(store).await?),)+
                })
            }
        }
    };
}

versions! {
    v0_1: V0_1,
    #[cfg(test)]
    copy: Copy,
}

fn converted<T, U, F: Into<outcome::Fault>>(
    answer: wasmtime::Result<Result<T, F>>,
    convert: impl FnOnce(T) -> Result<U, String>,
) -> Result<U, GuestError> {
    let value = answer.map_err(GuestError::Trap)?.map_err(|fault| GuestError::Fault(fault.into()))?;
    convert(value).map_err(GuestError::Broken)
}
