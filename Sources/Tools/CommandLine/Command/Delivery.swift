/// What becomes of the lines of a command while the reader of standard output does not read, or is gone.
package enum Delivery: Int {
  /// All are kept, and the command waits for room. It ends quietly without a reader, as filters do.
  case complete
  /// Beyond a limit they are dropped and counted: they report what others do, who must not wait. The
  /// command ends quietly without a reader.
  case live
  /// The same, but the command goes on without a reader.
  case log
  /// All are kept. A reader that is gone is an error.
  case transfer
}
