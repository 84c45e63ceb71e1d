//! Functions of jq over floating-point numbers.

use jaq_core::{
    Cv, RunPtr, ValXs,
    native::{Filter, bome, v},
};
use jaq_json::{Num, Val};

use crate::{
    functions::{Value, number},
    library::JqData,
};

pub(crate) fn all() -> impl Iterator<Item = Filter<RunPtr<JqData>>> {
    let of_two_numbers: [Filter<RunPtr<JqData>>; 10] = [
        ("pow", v(2), |cv| of_two(cv, f64::powf)),
        ("atan2", v(2), |cv| of_two(cv, f64::atan2)),
        ("fmin", v(2), |cv| of_two(cv, f64::min)),
        ("fmax", v(2), |cv| of_two(cv, f64::max)),
        ("fmod", v(2), |cv| of_two(cv, |a, b| a % b)),
        ("copysign", v(2), |cv| of_two(cv, f64::copysign)),
        ("hypot", v(2), |cv| of_two(cv, f64::hypot)),
        ("ldexp", v(2), |cv| of_two(cv, |a, b| a * b.exp2())),
        ("scalbln", v(2), |cv| of_two(cv, |a, b| a * b.exp2())),
        ("ilogb", v(0), |cv| of_one(&cv.1, |a| a.abs().log2().floor())),
    ];
    macro_rules! of_one_number {
        ($($name:literal: $function:expr),* $(,)?) => {
            [$(($name, v(0), (|cv: Cv<'_, JqData>| of_one(&cv.1, $function)) as RunPtr<JqData>)),*]
        };
    }
    let math = of_one_number! {
        "sqrt": f64::sqrt, "cbrt": f64::cbrt, "fabs": f64::abs, "trunc": f64::trunc, "rint": f64::round_ties_even,
        "nearbyint": f64::round_ties_even, "exp": f64::exp, "exp2": f64::exp2, "exp10": |a: f64| 10_f64.powf(a),
        "expm1": f64::exp_m1, "log": f64::ln, "log2": f64::log2, "log10": f64::log10, "log1p": f64::ln_1p,
        "sin": f64::sin, "cos": f64::cos, "tan": f64::tan, "asin": f64::asin, "acos": f64::acos, "atan": f64::atan,
        "sinh": f64::sinh, "cosh": f64::cosh, "tanh": f64::tanh, "asinh": f64::asinh, "acosh": f64::acosh,
        "atanh": f64::atanh,
    };
    of_two_numbers.into_iter().chain(math)
}

/// Returns a number, as an integer if it is one that JSON writers show without a fraction.
pub(crate) fn from_f64(number: f64) -> Val {
    match number.fract() == 0.0 && number.abs() < f64::from(i32::MAX) {
        true => Val::Num(Num::Int(number as isize)),
        false => Val::from(number),
    }
}

fn of_one<'a>(value: &Val, function: impl Fn(f64) -> f64) -> ValXs<'a, Value<'a>> {
    bome(number(value).map(|value| from_f64(function(value))))
}

fn of_two<'a>((mut context, _): Cv<'a, JqData>, function: impl Fn(f64, f64) -> f64) -> ValXs<'a, Value<'a>> {
    let (second, first) = (context.pop_var(), context.pop_var());
    bome(number(&first).and_then(|first| Ok(from_f64(function(first, number(&second)?)))))
}
