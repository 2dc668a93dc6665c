/// The exit status of every command, for help and man pages.
enum StatusCodes {
  static let meanings = [
    "success", "the peer answered with an ATT error", "wrong command line or file",
    "the connection could not be opened, was lost, or timed out", "a check failed",
  ]
}
