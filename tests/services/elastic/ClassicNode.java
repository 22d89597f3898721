import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.Plugin;

/**
 * Starts one node of Elasticsearch 7 for tests; with other package names, of OpenSearch 2. Arguments: the folder with the node's
 * settings, then plugin classes on the class path.
 */
public final class ClassicNode extends Node {
  ClassicNode(Environment env, Collection<Class<? extends Plugin>> plugins) {
    super(env, plugins, false);
  }

  public static void main(String[] args) throws Exception {
    Path conf = Path.of(args[0]).toAbsolutePath();
    Settings home = Settings.builder().put("path.home", conf.getParent().toString()).build();
    Environment env = InternalSettingsPreparer.prepareEnvironment(home, Map.of(), conf, () -> "spillway-test");
    LogConfigurator.registerErrorListener();
    LogConfigurator.configure(env);
    List<Class<? extends Plugin>> plugins = new ArrayList<>();
    for (int i = 1; i < args.length; i++) plugins.add(Class.forName(args[i]).asSubclass(Plugin.class));
    Node node = new ClassicNode(env, plugins);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try { node.close(); } catch (Exception e) { e.printStackTrace(); }
    }));
    node.start();
    new CountDownLatch(1).await();
  }
}
