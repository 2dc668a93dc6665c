/// Tasks on the loop that run one after another.
@RadioLoop final class TaskChain {
  private(set) var last: Task<Void, Never>?

  nonisolated init() {}

  @discardableResult
  func append(_ body: @escaping @RadioLoop @Sendable () async -> Void) -> Task<Void, Never> {
    let task = Task { @RadioLoop [last] in
      await last?.value
      await body()
    }
    last = task
    return task
  }
}
