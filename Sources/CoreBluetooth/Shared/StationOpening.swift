internal import Atto
import Foundation

/// How a radio is found and opened.
enum StationOpening {
  enum Result: Sendable {
    case air(AirAdapter)
    case kernel(KernelAdapter)
    /// It cannot be used: what managers show, and what people are told.
    case unusable(CBManagerState, String)
  }

  /// Names that are tried on the air, if other processes of the same program have the first ones.
  static let nameLimit = 64
  /// How long a radio that this process has itself is waited for.
  static let handoverTime: Duration = .seconds(1)

  static func open(_ choice: CBRadio) async -> Result {
    switch choice {
    case .air(let name): return await openAir(name)
    case .adapter(let index): return await openKernel(index)
    case .automatic:
      return Station.kernelHasAdapters ? await openKernel(nil) : await openAir(nil)
    }
  }

  /// A name that was asked for is taken as it is. The program's name gets a number if another
  /// process has it, so that each process has the same address in every run.
  ///
  /// - Parameter open: opens the radio of a name, or says who has it.
  static func openAir(
    _ name: String?, open: @Sendable (String) async throws(RadioError) -> AirAdapter = openAirInTurn
  ) async -> Result {
    let program = String(ProcessInfo.processInfo.processName.prefix(40))
    let names = name.map { [$0] } ?? [program] + (2...nameLimit).map { "\(program)-\($0)" }
    var last: RadioError?
    for name in names {
      do throws(RadioError) {
        return .air(try await open(name))
      } catch {
        last = error
        guard case .addressInUse = error else { break }
      }
    }
    return .unusable(
      .unsupported, "the virtual air cannot be used: \(last.map(\.description) ?? "")")
  }

  /// Opens a radio that a manager of this process, released just now, may not have closed yet: it
  /// is waited for.
  @Sendable static func openAirInTurn(_ name: String) async throws(RadioError) -> AirAdapter {
    let end = ContinuousClock.now + handoverTime
    while true {
      do throws(RadioError) {
        return try AirAdapter(name: name, loop: RadioLoop.loop)
      } catch {
        // One without a record is on its way in or out.
        guard case .addressInUse(_, _, let process) = error, process ?? getpid() == getpid(),
          ContinuousClock.now < end
        else { throw error }
        try? await Task.sleep(for: .milliseconds(10))
        if Task.isCancelled { throw error }
      }
    }
  }

  /// Switches the adapter on if it is off, as a phone's would be.
  private static func openKernel(_ index: Int?) async -> Result {
    let source = index.map { L2CAPSource.adapter(UInt16(truncatingIfNeeded: $0)) } ?? .any
    do throws(RadioError) {
      let adapter = try await KernelAdapter.open(source, loop: RadioLoop.loop)
      guard Capability.mayManageNetwork else {
        return .unusable(
          .unauthorized,
          "this process may not use hci\(adapter.index): it lacks CAP_NET_ADMIN. Run: sudo setcap"
            + " cap_net_admin+eip PROGRAM, or set ATTO_RADIO=air")
      }
      if await adapter.state != .poweredOn { try? await adapter.powerOn() }
      return .kernel(adapter)
    } catch {
      return .unusable(.unsupported, "there is no radio: \(error). ATTO_RADIO=air works without")
    }
  }
}
