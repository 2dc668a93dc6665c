import EventLoop

extension Loop {
  /// Lets the loop do what waits for it before the caller's task goes on: `Task.yield()` without
  /// its allocation, for one who sends and sends.
  func letOthersGo() async {
    await withUnsafeContinuation { resume(inTurn: $0) }
  }
}
