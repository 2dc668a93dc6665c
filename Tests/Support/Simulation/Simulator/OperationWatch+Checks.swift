import AttoATT
import AttoGATT

// Checks of results against the PDUs that were exchanged.

extension OperationWatch {
  /// Checks that a discovery keeps its limits.
  func checkLimits(_ result: Result<RemoteDatabase, ProcedureError>, _ limits: DiscoveryLimits) {
    guard case .success(let database) = result else { return }
    let characteristics = database.services.flatMap(\.characteristics)
    let counts = [
      (database.services.count, limits.services),
      (database.services.reduce(0) { $0 + $1.includes.count }, limits.includes),
      (characteristics.count, limits.characteristics),
      (characteristics.reduce(0) { $0 + $1.descriptors.count }, limits.descriptors),
      (exchanges.count, limits.requests),
    ]
    if let beyond = counts.first(where: { $0.0 > $0.1 }) {
      end.fail("queues keep their limits", "\(name): \(beyond.0), not \(beyond.1)")
    }
  }

  func expect(_ are: [UInt8], _ ought: [UInt8]) {
    guard end.connection.isTrusted, are != ought else { return }
    end.fail("results are what the peer said", "\(name): \(hex(are)), not \(hex(ought))")
  }

  /// Checks that a long value is read to its end: to a part that does not fill its response, or an
  /// error after the first part. An earlier error is the result.
  func checkLong(_ result: Result<[UInt8], ProcedureError>) {
    guard end.connection.isTrusted, case .success(let value) = result else { return }
    let parts = exchanges.filter { $0.response.first != 0x01 }
    expect(value, parts.flatMap { $0.response.dropFirst() })
    guard let last = exchanges.last?.response else { return }
    if parts.isEmpty {
      end.fail("refusals are told", "\(name): well, after \(hex(last))")
    } else if last.first != 0x01, last.count >= end.judge.mtu {
      end.fail("long values are read to their end", "\(name): ends with \(hex(last))")
    }
  }

  /// Checks that a procedure leaves no prepared writes, and has written everything if it succeeded.
  func checkPrepared(_ result: Result<Void, ProcedureError>, _ writes: [LongWrite]) {
    guard end.connection.isTrusted else { return }
    let prepared = exchanges.filter { $0.request.first == 0x16 }
    switch result {
    case .failure(.bearer), .failure(.enhancedBearer): return
    default: break
    }
    if lastOpcode == 0x16 {
      end.fail("prepared writes are all or nothing", "\(name) leaves its queue behind")
    }
    guard case .success = result else { return }
    var given: [UInt8] = []
    for (request, _) in prepared { given += request.dropFirst(5) }
    expect(given, writes.flatMap(\.value))
    expect(exchanges.last?.request ?? [], [0x18, 0x01])
    expect(exchanges.last?.response ?? [], [0x19])
  }
}
