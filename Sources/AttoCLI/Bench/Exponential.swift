import Glibc

/// Powers and logarithms, which the standard library does not have.
enum Exponential {
  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
  static func log10(_ value: Double) -> Double { Glibc.log10(value) }
}
