import ATT
import Foundation
import Testing

@testable import Files

/// The profiles of the repository.
@Suite struct FixtureTests {
  @Test(arguments: Fixtures.profiles) func parsesAndLiesInOrder(_ name: String) throws {
    let layout = try Profile(contentsOfFile: Fixtures.path(name)).layout()
    let handles = layout.attributes.map(\.handle)
    #expect(zip(handles, handles.dropFirst()).allSatisfy { $0 < $1 })
    let ranges = layout.services.map(\.range)
    #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.end < $1.start })
    for service in layout.automaticServices.services {
      #expect(!handles.contains { service.range.contains($0) })
    }
  }

  @Test func theReferenceHas820AttributesWithoutAGap() throws {
    let layout = try Profile(contentsOfFile: Fixtures.path("reference-820.json")).layout()
    #expect(layout.attributes.count == 820)
    #expect(layout.attributes.first?.handle == 0x0001)
    #expect(layout.attributes.last?.handle == 820)
    #expect(layout.services.count == 20)
    #expect(layout.attributes.count { $0.type == 0x2803 } == 200)
    #expect(layout.attributes.count { $0.type == 0x2902 } == 200)
    #expect(layout.attributes.count { $0.type == 0x2901 } == 200)
    #expect(layout.attributes.allSatisfy { $0.type.short != nil })
    #expect(layout.automaticServices.services.isEmpty)
  }

  @Test func theReferenceIsWhatItsScriptPrints() throws {
    let script = Process()
    script.executableURL = URL(filePath: "/usr/bin/env")
    script.arguments = ["python3", Fixtures.path("generate-reference.py")]
    let output = Pipe()
    script.standardOutput = output
    try script.run()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    script.waitUntilExit()
    #expect(script.terminationStatus == 0)
    #expect([UInt8](printed) == (try Fixtures.bytes("reference-820.json")))
  }

  @Test func theEdgesAreThere() throws {
    let layout = try Profile(contentsOfFile: Fixtures.path("edges.json")).layout()
    var lengths: Set<Int> = []
    var permissions: Profile.Permissions = []
    var nobody = 0
    for attribute in layout.attributes {
      guard case .value(let storage, _, _) = attribute.content else { continue }
      lengths.insert(storage.bytes.count)
      permissions.formUnion(storage.permissions)
      if storage.permissions.isEmpty { nobody += 1 }
    }
    #expect(lengths.isSuperset(of: [0, 1, 22, 23, 512]))
    #expect(permissions == Profile.Permissions.names.reduce([]) { $0.union($1.permission) })
    #expect(nobody > 0)
    #expect(layout.attributes.last?.handle == .max)
    #expect(layout.services.contains { !$0.isPrimary })
    #expect(layout.services.contains { $0.uuid.short == nil && $0.uuid.short32 != nil })
    #expect(layout.services.contains { $0.uuid.short32 == nil })
    #expect(Dictionary(grouping: layout.services, by: \.uuid).values.contains { $0.count > 5 })
    #expect(
      layout.attributes.contains {
        guard case .include(let service) = $0.content else { return false }
        return service.range.end < $0.handle
      })
  }
}
