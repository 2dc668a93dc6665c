internal import Atto
import Foundation

enum RadioOpening {
  enum Result: Sendable {
    case opened(Adapter)
    /// The radio cannot be used: the state that managers show, and the reason as a warning.
    case unusable(CBManagerState, String)
  }

  /// Number of names to try on the virtual air, when other processes of the program use the first.
  static let nameLimit = 64
  /// How long to wait for a radio that this process still holds.
  static let releaseTime: Duration = .seconds(1)

  static func open(_ choice: CBRadio) async -> Result {
    switch choice {
    case .air(let name): return await openAir(name)
    case .adapter(let index): return await openKernel(index)
    case .automatic:
      return RadioContext.kernelHasAdapters ? await openKernel(nil) : await openAir(nil)
    }
  }

  /// Opens a radio on the virtual air. A given name is used unchanged. The program's name gets a
  /// number if another process uses it, so that each process has the same address in every run.
  ///
  /// - Parameter open: opens the radio with a name.
  static func openAir(
    _ name: String?,
    open: @Sendable (String) async throws(RadioError) -> Adapter = openAirWhenReleased
  ) async -> Result {
    let program = String(ProcessInfo.processInfo.processName.prefix(40))
    let names = name.map { [$0] } ?? [program] + (2...nameLimit).map { "\(program)-\($0)" }
    var last: RadioError?
    for name in names {
      do throws(RadioError) {
        return .opened(try await open(name))
      } catch {
        last = error
        guard case .addressInUse = error else { break }
      }
    }
    return .unusable(
      .unsupported, "cannot use the virtual air: \(last.map(\.description) ?? "no name is free")")
  }

  /// Opens a radio. If a manager of this process was released just now and has not closed it yet,
  /// waits for that.
  @Sendable static func openAirWhenReleased(_ name: String) async throws(RadioError) -> Adapter {
    try await openAir(name, whenReleasedWithin: releaseTime)
  }

  static func openAir(
    _ name: String, whenReleasedWithin time: Duration
  ) async throws(RadioError) -> Adapter {
    let end = ContinuousClock.now + time
    while true {
      do throws(RadioError) {
        return try Adapter.virtual(name: name, loop: RadioLoop.loop)
      } catch {
        guard case .addressInUse(_, _, let process) = error, process == getpid(),
          ContinuousClock.now < end
        else { throw error }
        try? await Task.sleep(for: .milliseconds(10))
        if Task.isCancelled { throw error }
      }
    }
  }

  /// Opens an adapter of the kernel, and switches it on if it is off.
  private static func openKernel(_ index: Int?) async -> Result {
    let source = index.map { L2CAPSource.adapter(UInt16(truncatingIfNeeded: $0)) } ?? .any
    do throws(RadioError) {
      let adapter = try await Adapter.kernel(source, loop: RadioLoop.loop)
      guard Capability.mayManageNetwork else {
        return .unusable(
          .unauthorized,
          "permission denied for \(adapter.label): the process lacks CAP_NET_ADMIN"
            + "\nfix: sudo setcap cap_net_admin+eip PROGRAM, or set ATTO_RADIO=air")
      }
      if await adapter.state != .poweredOn { try? await adapter.powerOn() }
      return .opened(adapter)
    } catch {
      return .unusable(
        .unsupported, "no radio: \(error)\nhint: ATTO_RADIO=air uses the virtual air")
    }
  }
}
