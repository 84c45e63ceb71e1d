//! `gate-snapshot IN OUT`: calls `describe` once on the gate IN and writes a component to OUT whose calls start from
//! the memory that this leaves.
//!
//! Clocks and random numbers are fixed during the call, so the same gate gives the same bytes. The snapshot
//! is made twice, and any difference is an error.

use std::{fs, path::PathBuf, time::Duration};

use wasmtime::{
    Engine, Error, Result, Store, bail,
    component::{Component, Instance, Lift, Linker, ResourceTable, Val, WasmList, types::ComponentItem},
    error::Context as _,
};
use wasmtime_wasi::{
    HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView, random::Deterministic,
};
use wasmtime_wizer::{ComponentInstanceState, Wizer};

/// The interface that every gate exports, without its version.
const TOOLS: &str = "gatehouse:gate/tools@";

const SYSTEM: &str = "wasi:";

/// The interface that `describe` may use to look up tool names.
const CONTEXT: &str = "gatehouse:gate/context@";

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        bail!("usage: gate-snapshot IN OUT");
    };
    let component = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let snapshot_bytes = runtime
        .block_on(snapshot(&component))
        .with_context(|| format!("cannot snapshot {}", from.display()))?;
    fs::write(&to, snapshot_bytes).with_context(|| format!("cannot write {}", to.display()))
}

/// WASI state during `describe`; nothing in it varies between runs.
struct DescribeState {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for DescribeState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

struct FrozenClock;

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for FrozenClock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

async fn snapshot(gate: &[u8]) -> Result<Vec<u8>> {
    let wizer = Wizer::new();
    let (context, instrumented) = wizer.instrument_component(gate)?;
    let engine = Engine::default();
    let component = Component::new(&engine, &instrumented)?;
    let linker = linker(&engine, &component)?;
    let mut snapshots = Vec::new();
    for _ in 0..2 {
        let mut described = DescribedGate::new(&engine, &linker, &component).await?;
        snapshots.push(wizer.snapshot_component(&context, &mut described).await?);
        described.failed.map_or(Ok(()), Err)?;
    }
    match <[Vec<u8>; 2]>::try_from(snapshots) {
        Ok([first, second]) if first == second => Ok(first),
        _ => bail!("two `describe` calls left different memory"),
    }
}

/// Links WASI, and capabilities that fail because there is no call yet. Only `exposed-name` succeeds, and returns
/// `None`.
fn linker(engine: &Engine, component: &Component) -> Result<Linker<DescribeState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    for (name, item) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = item.ty else { continue };
        if name.starts_with(SYSTEM) {
            continue;
        }
        let mut capability = linker.instance(name)?;
        for (function, item) in interface.exports(engine) {
            if !matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                continue;
            }
            if (name.starts_with(CONTEXT), function) == (true, "exposed-name") {
                capability.func_new(function, |_, _, _, results| {
                    results[0] = Val::Option(None);
                    Ok(())
                })?;
                continue;
            }
            let refused = format!("{function} of {name} is available only in calls, not in `describe`");
            capability.func_new(function, move |_, _, _, _| bail!("{refused}"))?;
        }
    }
    Ok(linker)
}

struct DescribedGate {
    store: Store<DescribeState>,
    instance: Instance,
    failed: Option<Error>,
}

impl DescribedGate {
    async fn new(engine: &Engine, linker: &Linker<DescribeState>, component: &Component) -> Result<Self> {
        let wasi = WasiCtx::builder()
            .wall_clock(FrozenClock)
            .monotonic_clock(FrozenClock)
            .secure_random(Deterministic::new(vec![0]))
            .insecure_random(Deterministic::new(vec![0]))
            .insecure_random_seed(0)
            .build();
        let mut store = Store::new(engine, DescribeState { wasi, table: ResourceTable::new() });
        let instance = linker.instantiate_async(&mut store, component).await?;
        let kind = component.component_type();
        let tools = kind.exports(engine).find(|(name, _)| name.starts_with(TOOLS));
        let (tools, _) = tools.context("the gate exports no tools")?;
        let tools = instance.get_export_index(&mut store, None, tools);
        let describe =
            tools.and_then(|tools| instance.get_export_index(&mut store, Some(&tools), "describe"));
        let describe = describe.and_then(|describe| instance.get_func(&mut store, describe));
        let mut results = [Val::Bool(false)];
        let describe = describe.context("the gate exports no function `describe`")?;
        describe.call_async(&mut store, &[Val::String("{}".into())], &mut results).await?;
        match results {
            [Val::Result(Ok(_))] => Ok(Self { store, instance, failed: None }),
            [fault] => bail!("`describe` failed: {fault:?}"),
        }
    }

    /// Calls one of the instrumented functions that report memory and converts the result.
    async fn ask<R: Lift + 'static, T>(
        &mut self,
        instance: &str,
        function: &str,
        make: impl FnOnce(&Store<DescribeState>, R) -> T,
    ) -> Result<T> {
        let instance = self.instance.get_export_index(&mut self.store, None, instance);
        let function = instance
            .and_then(|instance| self.instance.get_export_index(&mut self.store, Some(&instance), function));
        let function = function.context("an instrumented function is missing")?;
        let function = self.instance.get_typed_func::<(), (R,)>(&mut self.store, function)?;
        let (answer,) = function.call_async(&mut self.store, ()).await?;
        Ok(make(&self.store, answer))
    }

    /// Calls one that returns a number. On failure, stores the error in `failed` and returns 0.
    async fn number<R: Lift + Default + 'static>(&mut self, instance: &str, function: &str) -> R {
        match self.ask(instance, function, |_, number: R| number).await {
            Ok(number) => number,
            Err(error) => {
                self.failed = Some(error);
                R::default()
            }
        }
    }
}

impl ComponentInstanceState for DescribedGate {
    async fn call_func_ret_list_u8(
        &mut self,
        instance: &str,
        function: &str,
        contents: impl FnOnce(&[u8]) + Send,
    ) {
        let read = |store: &Store<DescribeState>, bytes: WasmList<u8>| contents(bytes.as_le_slice(store));
        if let Err(error) = self.ask(instance, function, read).await {
            self.failed = Some(error);
        }
    }

    async fn call_func_ret_s32(&mut self, instance: &str, function: &str) -> i32 {
        self.number(instance, function).await
    }

    async fn call_func_ret_s64(&mut self, instance: &str, function: &str) -> i64 {
        self.number(instance, function).await
    }

    async fn call_func_ret_f32(&mut self, instance: &str, function: &str) -> u32 {
        self.number::<f32>(instance, function).await.to_bits()
    }

    async fn call_func_ret_f64(&mut self, instance: &str, function: &str) -> u64 {
        self.number::<f64>(instance, function).await.to_bits()
    }
}
