import DefaultTheme from 'vitepress/theme';
import './contrast.css';

export { DefaultTheme as default };
